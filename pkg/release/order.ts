import { compareText } from "../text/compare.ts";
import { groupOf, type KubeObject } from "../api/k8s.ts";

/**
 * Kinds of Kubernetes itself in the order in which they are applied; others come last, by name. Helm takes a custom resource that
 * is called like one of these for it, and then applies it before its CustomResourceDefinition.
 * @see helm.sh/helm/v3 v3.21 pkg/releaseutil/kind_sorter.go
 */
const INSTALL_ORDER: readonly string[] = [
  "PriorityClass",
  "Namespace",
  "NetworkPolicy",
  "ResourceQuota",
  "LimitRange",
  "PodSecurityPolicy",
  "PodDisruptionBudget",
  "ServiceAccount",
  "Secret",
  "ConfigMap",
  "StorageClass",
  "PersistentVolume",
  "PersistentVolumeClaim",
  "CustomResourceDefinition",
  "ClusterRole",
  "ClusterRoleBinding",
  "Role",
  "RoleBinding",
  "Service",
  "DaemonSet",
  "Pod",
  "ReplicationController",
  "ReplicaSet",
  "Deployment",
  "HorizontalPodAutoscaler",
  "StatefulSet",
  "Job",
  "CronJob",
  "IngressClass",
  "Ingress",
  "APIService",
];

const RANKS: ReadonlyMap<string, number> = new Map(INSTALL_ORDER.map((kind, rank) => [kind, rank]));

/** `objects` in the order of an apply: by kind as Helm has it, within a kind by namespace and name. */
export function installOrder<T extends KubeObject>(objects: readonly T[]): T[] {
  return objects.toSorted(compare);
}

/** `objects` in the order of a removal: exactly the reverse of `installOrder`. */
export function uninstallOrder<T extends KubeObject>(objects: readonly T[]): T[] {
  return installOrder(objects).reverse();
}

function compare(a: KubeObject, b: KubeObject): number {
  return (
    rankOf(a) - rankOf(b) ||
    compareText(a.kind, b.kind) ||
    compareText(a.metadata.namespace ?? "", b.metadata.namespace ?? "") ||
    compareText(a.metadata.name, b.metadata.name) ||
    compareText(groupOf(a.apiVersion), groupOf(b.apiVersion))
  );
}

function rankOf({ apiVersion, kind }: KubeObject): number {
  const group = groupOf(apiVersion);
  const isBuiltIn = !group.includes(".") || group.endsWith(".k8s.io");
  return (isBuiltIn ? RANKS.get(kind) : undefined) ?? INSTALL_ORDER.length;
}
