import type { ObjectState } from "../../controller/optionalObject.ts";

/** Values of --cluster-operator. */
export const CLUSTER_OPERATOR_MODES = ["auto", "on", "off"] as const;
/** Whether the ClusterOperator `olm` is written. */
export type ClusterOperatorMode = (typeof CLUSTER_OPERATOR_MODES)[number];

/** The ClusterOperator that says whether the cluster may be upgraded. */
export const CLUSTER_OPERATOR = { apiVersion: "config.openshift.io/v1", kind: "ClusterOperator", name: "olm" } as const;
/** The configuration of cluster-olm-operator: where it exists, that one writes the ClusterOperator, from our release Secrets. */
export const OLM = { apiVersion: "operator.openshift.io/v1", kind: "OLM", name: "cluster" } as const;

/** Whether we write the ClusterOperator now, with a sentence that says why; `unmanaged`: it only says that nobody looks after OLM. */
export type GateMode =
  | { readonly kind: "undecided" | "inactive"; readonly because: string }
  | { readonly kind: "active"; readonly unmanaged: boolean; readonly because: string };

/**
 * Who writes the ClusterOperator:
 *
 * | flag       | ClusterOperator | OLM/cluster | mode                                  |
 * | off        |                 |             | inactive                              |
 * | on or auto | not served      |             | inactive                              |
 * | auto       | served          | exists      | inactive                              |
 * | auto       | served          | none        | active                                |
 * | auto       | served          | unreadable  | inactive: two writers would alternate |
 * | on or auto | served          | not read yet | undecided                             |
 * | on         | served          | Unmanaged   | active, unmanaged                     |
 * | on         | served          | otherwise   | active                                |
 */
export function gateModeFrom(flag: ClusterOperatorMode, clusterOperator: ObjectState, olm: ObjectState): GateMode {
  if (flag === "off") return { kind: "inactive", because: "--cluster-operator is off" };
  if (clusterOperator.kind === "unknown") return undecided("whether ClusterOperators are served", clusterOperator.because);
  if (clusterOperator.kind === "notServed") return { kind: "inactive", because: "this cluster has no ClusterOperators" };
  const whether = 'whether cluster-olm-operator writes ClusterOperator "olm"';
  if (olm.kind === "unknown") return undecided(whether, olm.because);
  if (flag === "auto" && olm.kind === "unreadable") return { kind: "inactive", because: `it cannot be told ${whether}: ${olm.because}` };
  if (flag === "on") return { kind: "active", unmanaged: managementState(olm) === "Unmanaged", because: "--cluster-operator is on" };
  if (olm.kind === "present")
    return { kind: "inactive", because: `OLM "cluster" exists: cluster-olm-operator writes ClusterOperator "olm"` };
  return { kind: "active", unmanaged: false, because: `no cluster-olm-operator writes ClusterOperator "olm"` };
}

function managementState(olm: ObjectState): unknown {
  if (olm.kind !== "present") return undefined;
  return ((olm.object["spec"] ?? {}) as { managementState?: unknown }).managementState;
}

function undecided(what: string, because: string | undefined): GateMode {
  return { kind: "undecided", because: `it is not known yet ${what}${because === undefined ? "" : `: ${because}`}` };
}
