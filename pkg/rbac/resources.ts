import { type GroupVersionKind, getGroup, type KubeObject } from "../api/k8s.ts";
import { OPERATOR_CONDITION, OPERATOR_CONDITIONS } from "../api/operatorCondition.ts";

/** The API resource of a kind. */
export interface Resource {
  group: string;
  /** The plural name. */
  resource: string;
  namespaced: boolean;
}

/** Looks up a kind; undefined if it is unknown. */
export type ResourceOf = (gvk: GroupVersionKind) => Resource | undefined;

const NAMESPACED: Readonly<Record<string, readonly [kind: string, resource: string][]>> = {
  "": [
    ["ConfigMap", "configmaps"],
    ["Secret", "secrets"],
    ["Service", "services"],
    ["ServiceAccount", "serviceaccounts"],
  ],
  apps: [
    ["DaemonSet", "daemonsets"],
    ["Deployment", "deployments"],
    ["StatefulSet", "statefulsets"],
  ],
  autoscaling: [["HorizontalPodAutoscaler", "horizontalpodautoscalers"]],
  "autoscaling.k8s.io": [["VerticalPodAutoscaler", "verticalpodautoscalers"]],
  batch: [
    ["CronJob", "cronjobs"],
    ["Job", "jobs"],
  ],
  "cert-manager.io": [
    ["Certificate", "certificates"],
    ["Issuer", "issuers"],
  ],
  "monitoring.coreos.com": [
    ["PodMonitor", "podmonitors"],
    ["PrometheusRule", "prometheusrules"],
    ["ServiceMonitor", "servicemonitors"],
  ],
  "networking.k8s.io": [
    ["Ingress", "ingresses"],
    ["NetworkPolicy", "networkpolicies"],
  ],
  [OPERATOR_CONDITIONS.group]: [[OPERATOR_CONDITION.kind, OPERATOR_CONDITIONS.resource]],
  policy: [["PodDisruptionBudget", "poddisruptionbudgets"]],
  "rbac.authorization.k8s.io": [
    ["Role", "roles"],
    ["RoleBinding", "rolebindings"],
  ],
};

const CLUSTER_SCOPED: typeof NAMESPACED = {
  "": [["Namespace", "namespaces"]],
  "admissionregistration.k8s.io": [
    ["MutatingWebhookConfiguration", "mutatingwebhookconfigurations"],
    ["ValidatingWebhookConfiguration", "validatingwebhookconfigurations"],
  ],
  "apiextensions.k8s.io": [["CustomResourceDefinition", "customresourcedefinitions"]],
  "apiregistration.k8s.io": [["APIService", "apiservices"]],
  "console.openshift.io": [
    ["ConsoleCLIDownload", "consoleclidownloads"],
    ["ConsoleLink", "consolelinks"],
    ["ConsolePlugin", "consoleplugins"],
    ["ConsoleQuickStart", "consolequickstarts"],
    ["ConsoleYAMLSample", "consoleyamlsamples"],
  ],
  "rbac.authorization.k8s.io": [
    ["ClusterRole", "clusterroles"],
    ["ClusterRoleBinding", "clusterrolebindings"],
  ],
  "scheduling.k8s.io": [["PriorityClass", "priorityclasses"]],
};

const KNOWN: ReadonlyMap<string, Resource> = new Map([...buildTable(NAMESPACED, true), ...buildTable(CLUSTER_SCOPED, false)]);

/** Looks up the resources of kinds that bundles contain, without a cluster. Ignores the version. */
export function findKnownResource({ apiVersion, kind }: GroupVersionKind): Resource | undefined {
  return KNOWN.get(`${getGroup(apiVersion)}/${kind}`);
}

/** Returns the resource that a CRD defines; undefined if it is not a valid CRD. */
export function readDefinedResource(crd: KubeObject): (Resource & { kind: string }) | undefined {
  if (crd.kind !== "CustomResourceDefinition") return undefined;
  const spec = crd["spec"] as { group?: string; scope?: string; names?: { plural?: string; kind?: string } } | undefined;
  const { group, scope, names } = spec ?? {};
  if (!group || !names?.plural || !names.kind) return undefined;
  return { group, resource: names.plural, kind: names.kind, namespaced: scope !== "Cluster" };
}

function buildTable(table: typeof NAMESPACED, namespaced: boolean): [string, Resource][] {
  return Object.entries(table).flatMap(([group, kinds]) =>
    kinds.map(([kind, resource]): [string, Resource] => [`${group}/${kind}`, { group, resource, namespaced }]),
  );
}
