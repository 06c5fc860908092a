import { compareText } from "../../text/compare.ts";
import { compareVersionRelease } from "../../version/version.ts";
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
export interface SolverProblem {
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

/** The first by name of the channels that have the bundle. */
function firstChannel({ channels }: SolverBundle): string {
  return channels.reduce((first, name) => (compareText(name, first) < 0 ? name : first), channels[0] ?? "");
}

function compareChannels(a: SolverBundle, b: SolverBundle): number {
  return (
    Number(b.inDefaultChannel) - Number(a.inDefaultChannel) || (a.inDefaultChannel ? 0 : compareText(firstChannel(a), firstChannel(b)))
  );
}

/** The higher version first, those without one last. */
function compareVersions({ version: a }: SolverBundle, { version: b }: SolverBundle): number {
  return a && b ? compareVersionRelease(b, a) : Number(a === undefined) - Number(b === undefined);
}

/**
 * Negative where a bundle of catalog `dependent` that needs one of the two takes `a` first: the one of the catalog with the higher priority, then
 * of its own catalog, then one that is not deprecated, then of the default channel, then of the channel that comes first by name, then of the
 * highest version. What is left is told apart by the names of package, bundle and catalog.
 */
export function comparePreference(a: SolverBundle, b: SolverBundle, dependent: string | undefined): number {
  const isOther = ({ catalog }: SolverBundle): number => Number(catalog === undefined || catalog !== dependent);
  return (
    b.priority - a.priority ||
    isOther(a) - isOther(b) ||
    Number(a.deprecated) - Number(b.deprecated) ||
    compareChannels(a, b) ||
    compareVersions(a, b) ||
    compareText(a.packageName, b.packageName) ||
    compareText(a.name, b.name) ||
    compareText(a.catalog ?? "", b.catalog ?? "")
  );
}

/** The units in the order in which they are decided: `wanted` as given, then `installed` by name of package. */
export function decidedUnits(units: readonly Unit[]): Unit[] {
  const installed = units.filter(({ kind }) => kind === "installed");
  return [...units.filter(({ kind }) => kind === "wanted"), ...installed.sort((a, b) => compareText(a.packageName, b.packageName))];
}
