import type { ClusterExtension } from "../api/clusterExtension.ts";
import { groupOf, type KubeObject } from "../api/k8s.ts";
import { compareText } from "../text/compare.ts";
import { isCrd, objectKey } from "./identity.ts";

/**
 * Kinds of Kubernetes itself in the order in which they are applied; others come last, by name. Helm takes a custom resource that
 * is called like one of these for it, and then applies it before its CustomResourceDefinition.
 * @see helm.sh/helm/v3 v3.21.3 pkg/releaseutil/kind_sorter.go
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

/** What becomes of a CustomResourceDefinition that is no longer wanted: `spec.uninstall.crdPolicy`. */
export type CrdPolicy = "DeleteIfUnused" | "Delete" | "Retain";

/** What `spec` says of them; what a reader without the API server's defaults gets as well. */
export function crdPolicyOf(spec: ClusterExtension["spec"]): CrdPolicy {
  return spec.uninstall?.crdPolicy ?? "DeleteIfUnused";
}

/** What a change of release does to the cluster. */
export interface ReleasePlan {
  /** Everything that is wanted, in the order of the apply. */
  apply: KubeObject[];
  /** Recorded objects that are no longer wanted, in the order of their removal. CRDs are here under policy `Delete` only. */
  prune: KubeObject[];
  /** Recorded CRDs that are no longer wanted and not simply removed. */
  crds: {
    /** Policy `DeleteIfUnused`: to be removed after `prune` once no custom resource of them exists. */
    ifUnused: KubeObject[];
    /** Policy `Retain`: they stay. */
    kept: KubeObject[];
  };
}

/**
 * What to apply and what to remove to get from the recorded objects to the desired ones.
 * An object counts as the same in another version of its group.
 */
export function planRelease(request: {
  recorded?: readonly KubeObject[];
  desired: readonly KubeObject[];
  crdPolicy?: CrdPolicy;
}): ReleasePlan {
  const wanted = new Set(request.desired.map(objectKey));
  const left = new Map<string, KubeObject>();
  for (const object of request.recorded ?? []) if (!wanted.has(objectKey(object))) left.set(objectKey(object), object);
  const leaving = uninstallOrder([...left.values()]);
  const policy = request.crdPolicy ?? "DeleteIfUnused";
  const crds = leaving.filter(isCrd);
  return {
    apply: installOrder(request.desired),
    prune: policy === "Delete" ? leaving : leaving.filter((object) => !isCrd(object)),
    crds: { ifUnused: policy === "DeleteIfUnused" ? crds : [], kept: policy === "Retain" ? crds : [] },
  };
}
