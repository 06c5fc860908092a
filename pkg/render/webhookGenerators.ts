import type { KubeObject } from "../api/k8s.ts";
import { apiKindsAnnotation, effectivePort, listOwnedApiServices, listServingDeployments } from "../bundle/apiServices.ts";
import { MANIFEST_TYPES } from "../bundle/goTypes.ts";
import type { Csv, RegistryV1Bundle, WebhookDescription } from "../bundle/types.ts";
import { certificateNames } from "../certificates/providers.ts";
import { compareText } from "../text/compare.ts";
import type { GeneratorOptions } from "./generators.ts";

/** A Service in front of each deployment that serves webhooks of any type or APIs, in the order of the deployments. */
export function services({ csv }: RegistryV1Bundle, { installNamespace, certProvider }: GeneratorOptions): KubeObject[] {
  const wanted = wantedPorts(csv);
  return (csv.spec.install.spec.deployments ?? []).flatMap(({ name, spec }) => {
    const ports = servicePorts(wanted.get(name) ?? []);
    if (ports.length === 0) return [];
    const names = certificateNames(name, installNamespace);
    const selector = spec.selector?.matchLabels;
    const annotations = certProvider?.annotations("Service", names);
    const metadata = { name: names.serviceName, namespace: installNamespace, annotations };
    return [
      {
        kind: "Service",
        apiVersion: "v1",
        metadata: MANIFEST_TYPES.convert("meta/v1.ObjectMeta", metadata) as KubeObject["metadata"],
        spec: selector && Object.keys(selector).length > 0 ? { ports, selector } : { ports },
        status: { loadBalancer: {} },
      },
    ];
  });
}

/** What the certificate provider needs for each deployment that serves webhooks or APIs, sorted by deployment. */
export function certificateObjects({ csv }: RegistryV1Bundle, { installNamespace, certProvider }: GeneratorOptions): KubeObject[] {
  if (!certProvider) return [];
  const names = [...listServingDeployments(csv)].sort();
  return names.flatMap((name) => certProvider.additionalObjects(certificateNames(name, installNamespace)));
}

interface ServicePort {
  name: string;
  port: number;
  targetPort: number | string;
}

interface WantedPort {
  readonly port: number;
  readonly target: number | string;
}

/** The ports that webhooks and API services are served at, by deployment. */
function wantedPorts(csv: Csv): Map<string, WantedPort[]> {
  const wanted = [
    ...(csv.spec.webhookdefinitions ?? []).map(({ deploymentName = "", containerPort, targetPort }) => {
      const port = effectivePort(containerPort);
      return { deploymentName, port, target: targetPort ?? port };
    }),
    ...listOwnedApiServices(csv).map(({ deploymentName, port }) => ({ deploymentName, port, target: port })),
  ];
  return Map.groupBy(wanted, ({ deploymentName }) => deploymentName);
}

/** The distinct ports, by port and then by target; a named target counts by the number it spells, else as 0. */
function servicePorts(wanted: readonly WantedPort[]): ServicePort[] {
  const ports = new Map<string, ServicePort>();
  for (const { port, target } of wanted) ports.set(`${port}/${typeof target}/${target}`, { name: String(port), port, targetPort: target });
  return [...ports.values()].sort(
    (a, b) => a.port - b.port || numberOf(a.targetPort) - numberOf(b.targetPort) || compareText(String(a.targetPort), String(b.targetPort)),
  );
}

function numberOf(target: number | string): number {
  if (typeof target === "number") return target;
  return /^[+-]?\d+$/.test(target) ? Number(target) : 0;
}

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

/** Of the group: above custom resources, below what Kubernetes itself serves; of the version: below whatever else serves the group. */
const GROUP_PRIORITY_MINIMUM = 2000;
const VERSION_PRIORITY = 15;

/**
 * An APIService for each group version that the operator serves itself, with the kinds of it noted: the object has no member for them.
 * @see operator-lifecycle-manager 992bb0977 pkg/controller/install/apiservice.go
 */
export function apiServices({ csv }: RegistryV1Bundle, { installNamespace, certProvider }: GeneratorOptions): KubeObject[] {
  return listOwnedApiServices(csv).map(({ name, group, version, deploymentName, port, kinds }) => {
    const names = certificateNames(deploymentName, installNamespace);
    return {
      kind: "APIService",
      apiVersion: "apiregistration.k8s.io/v1",
      metadata: { name, annotations: { ...certProvider?.annotations("APIService", names), ...apiKindsAnnotation(kinds) } },
      spec: {
        service: { namespace: installNamespace, name: names.serviceName, port },
        group,
        version,
        groupPriorityMinimum: GROUP_PRIORITY_MINIMUM,
        versionPriority: VERSION_PRIORITY,
      },
    };
  });
}

const GROUP = "rbac.authorization.k8s.io";
const API_VERSION = `${GROUP}/v1`;
/** Holds the ConfigMap from which an API server learns how the aggregation layer authenticates itself. */
const SYSTEM_NAMESPACE = "kube-system";

/**
 * What the ServiceAccount of each deployment that serves APIs needs to do so, in the order of the deployments: to have requests
 * authenticated and authorised by the API server, to learn who may forward them, and to read its own certificate.
 * Names hold the install namespace where objects of several installations meet.
 * @see https://kubernetes.io/docs/tasks/extend-kubernetes/setup-extension-api-server/
 * @see operator-lifecycle-manager 992bb0977 pkg/controller/install/certresources.go
 */
export function apiServiceRights({ csv }: RegistryV1Bundle, { installNamespace: namespace, certProvider }: GeneratorOptions): KubeObject[] {
  const serving = new Set(listOwnedApiServices(csv).map(({ deploymentName }) => deploymentName));
  const deployments = (csv.spec.install.spec.deployments ?? []).filter(({ name }) => serving.has(name));
  return deployments.flatMap(({ name, spec }) => {
    const names = certificateNames(name, namespace);
    const { secretName = names.certificateName } = certProvider?.secret(names) ?? {};
    const account = spec.template.spec["serviceAccountName"];
    const subjects = [{ kind: "ServiceAccount", name: typeof account === "string" && account !== "" ? account : "default", namespace }];
    const prefix = `${namespace}:${names.serviceName}`;
    const rule = { verbs: ["get"], apiGroups: [""], resources: ["secrets"], resourceNames: [secretName] };
    return [
      { kind: "Role", apiVersion: API_VERSION, metadata: { name: secretName, namespace }, rules: [rule] },
      binding("RoleBinding", { name: secretName, namespace }, subjects, { kind: "Role", name: secretName }),
      binding("ClusterRoleBinding", { name: `${prefix}:auth-delegator` }, subjects, { kind: "ClusterRole", name: "system:auth-delegator" }),
      binding("RoleBinding", { name: `${prefix}:auth-reader`, namespace: SYSTEM_NAMESPACE }, subjects, {
        kind: "Role",
        name: "extension-apiserver-authentication-reader",
      }),
    ];
  });
}

function binding(
  kind: string,
  metadata: KubeObject["metadata"],
  subjects: readonly object[],
  role: { kind: string; name: string },
): KubeObject {
  return { kind, apiVersion: API_VERSION, metadata, subjects, roleRef: { apiGroup: GROUP, ...role } };
}
