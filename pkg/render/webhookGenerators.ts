import type { KubeObject } from "../api/k8s.ts";
import { buildApiKindsAnnotation, getEffectivePort, listOwnedApiServices, listServingDeployments } from "../bundle/apiServices.ts";
import { MANIFEST_TYPES } from "../bundle/goTypes.ts";
import type { Csv, RegistryV1Bundle, WebhookDescription } from "../bundle/types.ts";
import { buildCertificateNames } from "../certificates/providers.ts";
import { compareText } from "../text/compare.ts";
import type { GeneratorOptions } from "./generators.ts";

/** Generates a Service for each deployment that serves webhooks or APIs, in the order of the deployments. */
export function generateServices({ csv }: RegistryV1Bundle, { installNamespace, certProvider }: GeneratorOptions): KubeObject[] {
  const ports = portsByDeployment(csv);
  return (csv.spec.install.spec.deployments ?? []).flatMap(({ name, spec }) => {
    const own = servicePorts(ports.get(name) ?? []);
    if (own.length === 0) return [];
    const names = buildCertificateNames(name, installNamespace);
    const selector = spec.selector?.matchLabels;
    const annotations = certProvider?.annotations("Service", names);
    const metadata = { name: names.serviceName, namespace: installNamespace, annotations };
    return [
      {
        kind: "Service",
        apiVersion: "v1",
        metadata: MANIFEST_TYPES.convert("meta/v1.ObjectMeta", metadata) as KubeObject["metadata"],
        spec: selector && Object.keys(selector).length > 0 ? { ports: own, selector } : { ports: own },
        status: { loadBalancer: {} },
      },
    ];
  });
}

/** Generates the objects of the certificate provider for each deployment that serves webhooks or APIs, sorted by deployment. */
export function generateCertificateObjects({ csv }: RegistryV1Bundle, { installNamespace, certProvider }: GeneratorOptions): KubeObject[] {
  if (!certProvider) return [];
  const names = [...listServingDeployments(csv)].sort();
  return names.flatMap((name) => certProvider.additionalObjects(buildCertificateNames(name, installNamespace)));
}

interface ServicePort {
  name: string;
  port: number;
  targetPort: number | string;
}

interface ServedPort {
  readonly port: number;
  readonly target: number | string;
}

/** Returns the ports of webhooks and API services by deployment. */
function portsByDeployment(csv: Csv): Map<string, ServedPort[]> {
  const served = [
    ...(csv.spec.webhookdefinitions ?? []).map(({ deploymentName = "", containerPort, targetPort }) => {
      const port = getEffectivePort(containerPort);
      return { deploymentName, port, target: targetPort ?? port };
    }),
    ...listOwnedApiServices(csv).map(({ deploymentName, port }) => ({ deploymentName, port, target: port })),
  ];
  return Map.groupBy(served, ({ deploymentName }) => deploymentName);
}

/** Returns the distinct ports, sorted by port and target. A named target port is sorted by its number if it is one, otherwise as 0. */
function servicePorts(served: readonly ServedPort[]): ServicePort[] {
  const ports = new Map<string, ServicePort>();
  for (const { port, target } of served) ports.set(`${port}/${typeof target}/${target}`, { name: String(port), port, targetPort: target });
  return [...ports.values()].sort(
    (a, b) =>
      a.port - b.port || toPortNumber(a.targetPort) - toPortNumber(b.targetPort) || compareText(String(a.targetPort), String(b.targetPort)),
  );
}

function toPortNumber(target: number | string): number {
  if (typeof target === "number") return target;
  return /^[+-]?\d+$/.test(target) ? Number(target) : 0;
}

const NAMESPACE_NAME_LABEL = "kubernetes.io/metadata.name";

/** Generates a ValidatingWebhookConfiguration for each validating webhook of the CSV. */
export function generateValidatingWebhooks(bundle: RegistryV1Bundle, options: GeneratorOptions): KubeObject[] {
  return listWebhooks(bundle, "ValidatingAdmissionWebhook").map((webhook) =>
    configuration("ValidatingWebhookConfiguration", webhook, options),
  );
}

/** Generates a MutatingWebhookConfiguration for each mutating webhook of the CSV. */
export function generateMutatingWebhooks(bundle: RegistryV1Bundle, options: GeneratorOptions): KubeObject[] {
  return listWebhooks(bundle, "MutatingAdmissionWebhook").map((webhook) => configuration("MutatingWebhookConfiguration", webhook, options));
}

function listWebhooks({ csv }: RegistryV1Bundle, type: string): WebhookDescription[] {
  return (csv.spec.webhookdefinitions ?? []).filter((webhook) => webhook.type === type);
}

function buildMetadata(metadata: object): KubeObject["metadata"] {
  return MANIFEST_TYPES.convert("meta/v1.ObjectMeta", metadata) as KubeObject["metadata"];
}

/** Generates a webhook configuration with fields in the order of Go. The port is the one in the CSV; 0 if it is not set. */
function configuration(
  kind: "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
  webhook: WebhookDescription,
  options: GeneratorOptions,
): KubeObject {
  const { installNamespace, certProvider } = options;
  const names = buildCertificateNames(webhook.deploymentName ?? "", installNamespace);
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
    metadata: buildMetadata({ name, namespace: installNamespace, annotations }),
    webhooks: [present(entry)],
  };
}

/** Removes undefined fields. */
function present(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

function namespaceSelector({ targetNamespaces }: GeneratorOptions): object | undefined {
  if (targetNamespaces.length === 0 || targetNamespaces.includes("")) return undefined;
  return { matchExpressions: [{ key: NAMESPACE_NAME_LABEL, operator: "In", values: [...targetNamespaces] }] };
}

/** Group priority: above custom resources, below the API groups of Kubernetes. Version priority: below other versions of the group. */
const GROUP_PRIORITY_MINIMUM = 2000;
const VERSION_PRIORITY = 15;

/**
 * Generates an APIService for each API group and version that the operator serves. An annotation lists its kinds, because the object has no
 * such field.
 * @see operator-lifecycle-manager 992bb0977 pkg/controller/install/apiservice.go
 */
export function generateApiServices({ csv }: RegistryV1Bundle, { installNamespace, certProvider }: GeneratorOptions): KubeObject[] {
  return listOwnedApiServices(csv).map(({ name, group, version, deploymentName, port, kinds }) => {
    const names = buildCertificateNames(deploymentName, installNamespace);
    return {
      kind: "APIService",
      apiVersion: "apiregistration.k8s.io/v1",
      metadata: { name, annotations: { ...certProvider?.annotations("APIService", names), ...buildApiKindsAnnotation(kinds) } },
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
/** Namespace of the ConfigMap with the authentication configuration of the aggregation layer. */
const SYSTEM_NAMESPACE = "kube-system";

/**
 * Generates the permissions for the ServiceAccount of each deployment that serves APIs, in the order of the deployments: to authenticate and
 * authorize requests with the API server, to read the authentication configuration of the aggregation layer, and to read its certificate. Names
 * contain the install namespace if objects of several installations share a namespace or are cluster-scoped.
 * @see https://kubernetes.io/docs/tasks/extend-kubernetes/setup-extension-api-server/
 * @see operator-lifecycle-manager 992bb0977 pkg/controller/install/certresources.go
 */
export function generateApiServicePermissions(
  { csv }: RegistryV1Bundle,
  { installNamespace: namespace, certProvider }: GeneratorOptions,
): KubeObject[] {
  const serving = new Set(listOwnedApiServices(csv).map(({ deploymentName }) => deploymentName));
  const deployments = (csv.spec.install.spec.deployments ?? []).filter(({ name }) => serving.has(name));
  return deployments.flatMap(({ name, spec }) => {
    const names = buildCertificateNames(name, namespace);
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
