import { compareText } from "../../api/compareText.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { MANIFEST_TYPES } from "../../bundle/goTypes.ts";
import type { RegistryV1Bundle, WebhookDescription } from "../../bundle/types.ts";
import { certificateNames } from "../certificateProvider.ts";
import type { GeneratorOptions } from "./options.ts";

const NAMESPACE_NAME_LABEL = "kubernetes.io/metadata.name";
const DEFAULT_PORT = 443;

/** A ValidatingWebhookConfiguration for each validating webhook of the CSV. */
export function validatingWebhooks(bundle: RegistryV1Bundle, options: GeneratorOptions): KubeObject[] {
  return webhooksOf(bundle, "ValidatingAdmissionWebhook").map((webhook) =>
    configuration("ValidatingWebhookConfiguration", webhook, options),
  );
}

/** A MutatingWebhookConfiguration for each mutating webhook of the CSV. */
export function mutatingWebhooks(bundle: RegistryV1Bundle, options: GeneratorOptions): KubeObject[] {
  return webhooksOf(bundle, "MutatingAdmissionWebhook").map((webhook) => configuration("MutatingWebhookConfiguration", webhook, options));
}

/** A Service in front of each deployment that serves a webhook of any type, in the order of the deployments. */
export function webhookServices({ csv }: RegistryV1Bundle, { installNamespace, certProvider }: GeneratorOptions): KubeObject[] {
  const webhooks = csv.spec.webhookdefinitions ?? [];
  return (csv.spec.install.spec.deployments ?? []).flatMap(({ name, spec }) => {
    const ports = servicePorts(webhooks.filter(({ deploymentName = "" }) => deploymentName === name));
    if (ports.length === 0) return [];
    const names = certificateNames(name, installNamespace);
    const selector = spec.selector?.matchLabels;
    const annotations = certProvider?.annotations("Service", names);
    return [
      {
        kind: "Service",
        apiVersion: "v1",
        metadata: metadataOf({ name: names.serviceName, namespace: installNamespace, annotations }),
        spec: selector && Object.keys(selector).length > 0 ? { ports, selector } : { ports },
        status: { loadBalancer: {} },
      },
    ];
  });
}

/** What the certificate provider needs for each deployment that a webhook names, sorted by deployment. */
export function certificateObjects({ csv }: RegistryV1Bundle, { installNamespace, certProvider }: GeneratorOptions): KubeObject[] {
  if (!certProvider) return [];
  const names = new Set((csv.spec.webhookdefinitions ?? []).map(({ deploymentName = "" }) => deploymentName));
  return [...names].sort().flatMap((name) => certProvider.additionalObjects(certificateNames(name, installNamespace)));
}

function webhooksOf({ csv }: RegistryV1Bundle, type: string): WebhookDescription[] {
  return (csv.spec.webhookdefinitions ?? []).filter((webhook) => webhook.type === type);
}

function metadataOf(metadata: object): KubeObject["metadata"] {
  return MANIFEST_TYPES.convert("meta/v1.ObjectMeta", metadata) as KubeObject["metadata"];
}

/** Members in Go's order. The port is the CSV's as it is, so 0 when it says none. */
function configuration(
  kind: "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
  webhook: WebhookDescription,
  options: GeneratorOptions,
): KubeObject {
  const { installNamespace, certProvider } = options;
  const names = certificateNames(webhook.deploymentName ?? "", installNamespace);
  const name = webhook.generateName.replace(/-$/, "");
  const {
    rules,
    failurePolicy,
    matchPolicy,
    objectSelector,
    sideEffects,
    timeoutSeconds,
    admissionReviewVersions,
    reinvocationPolicy,
    webhookPath,
  } = webhook;
  const service = { namespace: installNamespace, name: names.serviceName, path: webhookPath, port: webhook.containerPort ?? 0 };
  const entry = {
    name,
    clientConfig: { service: present(service) },
    rules,
    failurePolicy,
    matchPolicy,
    namespaceSelector: namespaceSelector(options),
    objectSelector,
    sideEffects,
    timeoutSeconds,
    admissionReviewVersions,
    reinvocationPolicy: kind === "MutatingWebhookConfiguration" ? reinvocationPolicy : undefined,
  };
  const annotations = certProvider?.annotations(kind, names);
  return {
    kind,
    apiVersion: "admissionregistration.k8s.io/v1",
    metadata: metadataOf({ name, namespace: installNamespace, annotations }),
    webhooks: [present(entry)],
  };
}

/** `members` without those that are undefined. */
function present(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

function namespaceSelector({ targetNamespaces }: GeneratorOptions): object | undefined {
  if (targetNamespaces.length === 0 || targetNamespaces.includes("")) return undefined;
  return { matchExpressions: [{ key: NAMESPACE_NAME_LABEL, operator: "In", values: [...targetNamespaces] }] };
}

interface ServicePort {
  name: string;
  port: number;
  targetPort: number | string;
}

/** The distinct ports, by port and then by target; a named target counts by the number it spells, else as 0. */
function servicePorts(webhooks: readonly WebhookDescription[]): ServicePort[] {
  const ports = new Map<string, ServicePort>();
  for (const { containerPort = 0, targetPort } of webhooks) {
    const port = containerPort > 0 ? containerPort : DEFAULT_PORT;
    const target = targetPort ?? port;
    ports.set(`${port}/${typeof target}/${target}`, { name: String(port), port, targetPort: target });
  }
  return [...ports.values()].sort(
    (a, b) => a.port - b.port || numberOf(a.targetPort) - numberOf(b.targetPort) || compareText(String(a.targetPort), String(b.targetPort)),
  );
}

function numberOf(target: number | string): number {
  if (typeof target === "number") return target;
  return /^[+-]?\d+$/.test(target) ? Number(target) : 0;
}
