import { compareText } from "../../text/compare.ts";
import { compareVersionRelease } from "../../version/version.ts";
import type { BundleConstraint, Gvk, Provider } from "../constraint/constraint.ts";
import { getGvkKey } from "../constraint/parse.ts";

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

/** A bundle of a catalog that cannot be chosen, and why. Its package may have candidates too. */
export interface RejectedSolverBundle extends Provider {
  readonly name: string;
  readonly catalog: string;
  readonly why: /** A constraint is malformed; `fault` is the author's mistake, without the name of the bundle. */
    | { readonly kind: "faulty"; readonly fault: string }
    /** The name of the package is not a valid name of an extension. */
    | { readonly kind: "unnamed" }
    /** The spec of the ClusterExtension that installs the package excludes it. */
    | { readonly kind: "limited"; readonly extension: string }
    /** The version is missing or malformed. */
    | { readonly kind: "unversioned" }
    /** The package is wanted or installed as other bundles only, which are the candidates of its unit. */
    | { readonly kind: "fixed" };
}

/** A problem to solve. Package names are unique among the units. */
export interface SolverProblem {
  readonly units: readonly Unit[];
  readonly served: readonly ServedApi[];
  /** Bundles that exist but cannot be chosen. They do not change the solution; an explanation names those that would meet a constraint. */
  readonly rejected?: readonly RejectedSolverBundle[];
}

/** One reason of an explanation. */
export interface ExplanationSentence {
  readonly text: string;
  /**
   * - `wanted`, `installed`: the package must be present.
   * - `requirement`: the bundles require the constraint. `missing`: they do, and no bundle that can be chosen meets it.
   * - `offer`: only the bundles meet the constraint; for a constraint on a package, it has only these bundles.
   * - `exclusive`: the bundles provide an API that can have only one provider. `owned`: they provide an API that has an owner.
   */
  readonly kind: "wanted" | "installed" | "requirement" | "missing" | "offer" | "exclusive" | "owned";
  /** Names of the packages that the sentence is about, sorted. */
  readonly packages: readonly string[];
  /** Sorted by package, name and catalog. */
  readonly bundles: readonly BundleReference[];
  readonly constraints: readonly ConstraintReference[];
}

/** A constraint of an explanation. */
interface ConstraintReference {
  readonly kind: BundleConstraint["kind"];
  /** Such as `package "b" >=2.0.0`. */
  readonly text: string;
}

/** Identifies a bundle. */
export interface BundleReference {
  readonly packageName: string;
  readonly name: string;
  /** Undefined for an installed bundle that is not from a searched catalog. */
  readonly catalog: string | undefined;
}

/** Why a problem has no solution: sentences from the wanted package to the missing dependency that together exclude every solution. */
export interface Explanation {
  readonly sentences: readonly ExplanationSentence[];
  /** True if every sentence is needed. False if the step limit ended the search for redundant ones. */
  readonly isMinimal: boolean;
}

/** The result of solving a problem. */
export type Solution =
  /**
   * The chosen bundle of each package in the solution, including units `wanted` and `installed`. `isBest` is false if the step limit ended the
   * search for the best solution: the solution is valid, but a better one may exist.
   */
  | { readonly kind: "solved"; readonly chosen: ReadonlyMap<string, SolverBundle>; readonly isBest: boolean }
  /** There is no solution. */
  | { readonly kind: "unsolvable"; readonly explanation: Explanation }
  /** The search exceeded its step limit before it found a solution. `proven` contains sentences that are true nevertheless. */
  | { readonly kind: "undecided"; readonly steps: number; readonly proven: readonly string[] };

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
 * Compares two bundles for a dependent of catalog `dependent`; negative if `a` is preferred, 0 only for equal bundles. In order: catalog with
 * the higher priority, the dependent's own catalog, not deprecated, default channel, first channel by name, highest version, then names of package,
 * bundle and catalog, then content.
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
    compareText(a.catalog ?? "", b.catalog ?? "") ||
    (a === b ? 0 : compareText(getContentKey(a), getContentKey(b)))
  );
}

/** Returns a key that orders bundles of the same name and catalog, which valid catalogs do not contain. */
function getContentKey({ channels, apis, properties, constraints }: SolverBundle): string {
  const content = [channels.toSorted(compareText), listApis({ apis }), properties, constraints];
  return JSON.stringify(content, (key, value: unknown) => (key === "versions" ? undefined : value));
}

/** Returns the APIs of a bundle in an order that does not depend on the catalog. */
export function listApis({ apis }: Pick<SolverBundle, "apis">): Gvk[] {
  return apis.toSorted((a, b) => compareText(getGvkKey(a), getGvkKey(b)));
}

/** Returns the units in decision order: `wanted` as given, then `installed` by name of package. */
export function sortDecidedUnits(units: readonly Unit[]): Unit[] {
  const installed = units.filter(({ kind }) => kind === "installed");
  return [...units.filter(({ kind }) => kind === "wanted"), ...installed.sort((a, b) => compareText(a.packageName, b.packageName))];
}
