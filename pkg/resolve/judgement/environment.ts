import type { Provider } from "../constraint/constraint.ts";
import type { DeclaredConstraints } from "../constraint/constraintsOf.ts";
import type { ServedApi } from "../solver/problem.ts";

/** What an extension has installed, with what that asks of the others. */
export interface Neighbour {
  /** Name of the ClusterExtension. */
  readonly extension: string;
  /** Name of the bundle. */
  readonly bundle: string;
  readonly provider: Provider;
  readonly declared: DeclaredConstraints;
}

/** What a bundle of an extension would be installed among. */
export interface Environment {
  /** What all other extensions have installed, by name of the extension. */
  readonly neighbours: readonly Neighbour[];
  /** What the extension itself has installed. */
  readonly own: Neighbour | undefined;
  /** APIs of the cluster that no installed bundle provides. */
  readonly served: readonly ServedApi[];
}
