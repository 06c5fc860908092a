import type { ClusterExtension } from "../api/clusterExtension.ts";
import type { KubeObject } from "../api/k8s.ts";
import { isCrd, objectKey } from "./identity.ts";
import { installOrder, uninstallOrder } from "./order.ts";

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
