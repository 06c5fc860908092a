import type { ClusterExtension } from "../api/clusterExtension.ts";
import { getGroup, type KubeObject } from "../api/k8s.ts";
import { OPERATOR_CONDITION } from "../api/operatorCondition.ts";
import { compareText } from "../text/compare.ts";
import { getObjectKey, isCrd } from "./identity.ts";

/**
 * Kubernetes kinds in the order in which they are applied. Other kinds come last, by name. Unlike here, Helm sorts a custom resource with one of
 * these names like the built-in kind, so it is applied before its CustomResourceDefinition.
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
const BEFORE_WORKLOADS = INSTALL_ORDER.indexOf("Service");

/** Returns `objects` in the order in which they are applied: by kind in Helm's order, then by namespace and name. */
export function sortForInstall<T extends KubeObject>(objects: readonly T[]): T[] {
  return objects.toSorted(compare);
}

/** Returns `objects` in the order in which they are removed: the exact reverse of `sortForInstall`. */
export function sortForUninstall<T extends KubeObject>(objects: readonly T[]): T[] {
  return sortForInstall(objects).reverse();
}

function compare(a: KubeObject, b: KubeObject): number {
  return (
    getRank(a) - getRank(b) ||
    compareText(a.kind, b.kind) ||
    compareText(a.metadata.namespace ?? "", b.metadata.namespace ?? "") ||
    compareText(a.metadata.name, b.metadata.name) ||
    compareText(getGroup(a.apiVersion), getGroup(b.apiVersion))
  );
}

function getRank({ apiVersion, kind }: KubeObject): number {
  const group = getGroup(apiVersion);
  // Operators read their OperatorCondition when they start.
  if (kind === OPERATOR_CONDITION.kind && group === getGroup(OPERATOR_CONDITION.apiVersion)) return BEFORE_WORKLOADS;
  const isBuiltIn = !group.includes(".") || group.endsWith(".k8s.io");
  return (isBuiltIn ? RANKS.get(kind) : undefined) ?? INSTALL_ORDER.length;
}

/** The action on a CustomResourceDefinition that is no longer needed: `spec.uninstall.crdPolicy`. */
export type CrdPolicy = "DeleteIfUnused" | "Delete" | "Retain";

/** Returns the policy of `spec`, with the default of the API server. */
export function getCrdPolicy(spec: ClusterExtension["spec"]): CrdPolicy {
  return spec.uninstall?.crdPolicy ?? "DeleteIfUnused";
}

/** Returns the policy of `spec` for removals that no user requested: DeleteIfUnused instead of Delete, so that no custom resource is deleted. */
export function getSafeCrdPolicy(spec: ClusterExtension["spec"]): Exclude<CrdPolicy, "Delete"> {
  return getCrdPolicy(spec) === "Retain" ? "Retain" : "DeleteIfUnused";
}

/** Reports whether the controller stores custom resources in another version before an upgrade that needs this. */
export function migratesStorage(spec: Pick<ClusterExtension["spec"], "install">): boolean {
  return spec.install?.storageMigration === "Automatic";
}

/** The objects to apply and remove for a new release. */
export interface ReleasePlan {
  /** All desired objects, in the order in which they are applied. */
  apply: KubeObject[];
  /** Recorded objects that are no longer desired, in the order in which they are removed. Includes CRDs only with policy `Delete`. */
  prune: KubeObject[];
  /** Recorded CRDs that are no longer desired, but are not always removed. */
  crds: {
    /** Policy `DeleteIfUnused`: removed after `prune` if they have no custom resources. */
    ifUnused: KubeObject[];
    /** Policy `Retain`: they stay. */
    kept: KubeObject[];
  };
}

/**
 * Computes which objects to apply and remove to change from the recorded objects to the desired ones. An object with a different version of its API
 * group counts as the same object.
 */
export function planRelease(request: {
  recorded?: readonly KubeObject[];
  desired: readonly KubeObject[];
  crdPolicy?: CrdPolicy;
}): ReleasePlan {
  const desired = new Set(request.desired.map(getObjectKey));
  const left = new Map<string, KubeObject>();
  for (const object of request.recorded ?? []) if (!desired.has(getObjectKey(object))) left.set(getObjectKey(object), object);
  const leaving = sortForUninstall([...left.values()]);
  const policy = request.crdPolicy ?? "DeleteIfUnused";
  const crds = leaving.filter(isCrd);
  return {
    apply: sortForInstall(request.desired),
    prune: policy === "Delete" ? leaving : leaving.filter((object) => !isCrd(object)),
    crds: { ifUnused: policy === "DeleteIfUnused" ? crds : [], kept: policy === "Retain" ? crds : [] },
  };
}
