import { compareText } from "../../text/compare.ts";
import { compareVersionRelease } from "../../version/version.ts";
import type { BundleConstraint, Gvk, Provider } from "../constraint/constraint.ts";

/** A bundle that may be part of a solution. */
export interface SolverBundle extends Provider {
  readonly name: string;
  /** Name of the catalog that contains the bundle; undefined for an installed bundle that is not from a searched catalog. */
  readonly catalog: string | undefined;
  /** The priority of that catalog. */
  readonly priority: number;
  /** The channels with the bundle as an entry; `inDefaultChannel` is true if one of them is the package's default channel. */
  readonly channels: readonly string[];
  readonly inDefaultChannel: boolean;
  readonly deprecated: boolean;
  readonly constraints: readonly BundleConstraint[];
}

/**
 * A package. A solution contains at most one of its bundles.
 * - `wanted`: the solution contains the first possible candidate.
 * - `installed`: the same; the first candidate is the installed bundle.
 * - `offered`: the solution contains a candidate only if a constraint needs it. The candidates may be in any order.
 */
export interface Unit {
  readonly kind: "wanted" | "installed" | "offered";
  readonly packageName: string;
  readonly candidates: readonly SolverBundle[];
}

/** An API that the cluster serves and none of the units provides. */
export interface ServedApi {
  readonly gvk: Gvk;
  /** The owner of the API; undefined if any bundle may take it over. A solution must not contain a bundle that provides an API with an owner. */
  readonly owner: string | undefined;
}

/** A problem to solve. Package names are unique among the units. */
export interface SolverProblem {
  readonly units: readonly Unit[];
  readonly served: readonly ServedApi[];
}

/** The result of solving a problem. */
export type Solution =
  /** The chosen bundle of each package in the solution, including units `wanted` and `installed`. */
  | { readonly kind: "solved"; readonly chosen: ReadonlyMap<string, SolverBundle> }
  /** Why there is no solution, one sentence each; none is redundant. */
  | { readonly kind: "unsolvable"; readonly sentences: readonly string[] }
  /** The search exceeded its step limit. */
  | { readonly kind: "undecided"; readonly steps: number };

/** Returns the bundle's first channel by name. */
function firstChannel({ channels }: SolverBundle): string {
  return channels.reduce((first, name) => (compareText(name, first) < 0 ? name : first), channels[0] ?? "");
}

function compareChannels(a: SolverBundle, b: SolverBundle): number {
  return (
    Number(b.inDefaultChannel) - Number(a.inDefaultChannel) || (a.inDefaultChannel ? 0 : compareText(firstChannel(a), firstChannel(b)))
  );
}

/** Compares versions, highest first; bundles without one are last. */
function compareVersions({ version: a }: SolverBundle, { version: b }: SolverBundle): number {
  return a && b ? compareVersionRelease(b, a) : Number(a === undefined) - Number(b === undefined);
}

/**
 * Compares two bundles for a dependent of catalog `dependent`; negative if `a` is preferred. In order: catalog with the higher priority, the
 * dependent's own catalog, not deprecated, default channel, first channel by name, highest version, then names of package, bundle and catalog.
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

/** Returns the units in decision order: `wanted` as given, then `installed` by name of package. */
export function sortDecidedUnits(units: readonly Unit[]): Unit[] {
  const installed = units.filter(({ kind }) => kind === "installed");
  return [...units.filter(({ kind }) => kind === "wanted"), ...installed.sort((a, b) => compareText(a.packageName, b.packageName))];
}
