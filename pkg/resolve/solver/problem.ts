import type { BundleConstraint, Gvk, Provider } from "../constraint/constraint.ts";

/** A bundle that may be part of a solution. */
export interface SolverBundle extends Provider {
  readonly name: string;
  /** Name of the catalog that offers it; undefined for an installed bundle that no catalog is asked for. */
  readonly catalog: string | undefined;
  /** The priority of that catalog. */
  readonly priority: number;
  /** The channels that have it as an entry, those of the package's default channel marked by `inDefaultChannel`. */
  readonly channels: readonly string[];
  readonly inDefaultChannel: boolean;
  readonly deprecated: boolean;
  readonly constraints: readonly BundleConstraint[];
}

/**
 * A package of which at most one bundle is in a solution.
 * `wanted`: one of the candidates has to be in it, the first that can. `installed`: the same; the first candidate is what is installed.
 * `offered`: one of them where something needs it, else none; candidates come in any order.
 */
export interface Unit {
  readonly kind: "wanted" | "installed" | "offered";
  readonly packageName: string;
  readonly candidates: readonly SolverBundle[];
}

/** An API that the cluster serves and none of the units provides. */
export interface ServedApi {
  readonly gvk: Gvk;
  /** Who owns it; undefined where anybody may take it over. No bundle of a solution may provide what somebody else owns. */
  readonly owner: string | undefined;
}

/** What there is to solve. Package names are unique among the units. */
export interface Problem {
  readonly units: readonly Unit[];
  readonly served: readonly ServedApi[];
}

/** What came of it. */
export type Solution =
  /** The chosen bundle of each package that is part of it; the bundles of units `wanted` and `installed` among them. */
  | { readonly kind: "solved"; readonly chosen: ReadonlyMap<string, SolverBundle> }
  /** Why there is none, one sentence each; none of them can be left out. */
  | { readonly kind: "unsolvable"; readonly sentences: readonly string[] }
  /** The search took more steps than it may. */
  | { readonly kind: "undecided"; readonly steps: number };
