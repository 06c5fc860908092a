import type { KubeObject } from "../../api/k8s.ts";
import { MANIFEST_TYPES } from "../../bundle/goTypes.ts";
import type { RegistryV1Bundle, WebhookDescription } from "../../bundle/types.ts";
import { certificateNames } from "../certificateProvider.ts";
import type { GeneratorOptions } from "./options.ts";

const NAMESPACE_NAME_LABEL = "kubernetes.io/metadata.name";

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
