import { goQuote } from "../../golang/quote.ts";
import { formatVersionRelease } from "../../version/version.ts";
import { formatExplanation } from "../solver/explanationFormat.ts";
import type { SolverBundle } from "../solver/problem.ts";
import { formatEnumeration } from "../wording.ts";
import { type DependencyConflict, formatDependencyConflict } from "./dependencyCheck.ts";
import type { PeerUpdate } from "./peerUpdates.ts";
import { REACHABILITY_LIMITS, type ReachabilityLimit } from "./reachablePackages.ts";
import type { Remedy, RemedyStep, ResolutionHint, SearchLimit } from "./remedySearch.ts";

/** A catalog that is unavailable, and why. */
export interface UnavailableCatalog {
  readonly name: string;
  readonly unavailable: string;
}

/** Why a bundle cannot be installed, and what would allow it. */
export interface DependencyRefusal {
  readonly conflict: DependencyConflict;
  /** Undefined if there was no search, because only the catalog author can fix the problem. */
  readonly hint: ResolutionHint | undefined;
  readonly unavailable: readonly UnavailableCatalog[];
}

/**
 * Formats a refusal as clauses: the reason why a bundle cannot be installed, followed by a suggested change or the reason why none exists. This is the
 * only text about a refusal: conditions, `status.problems` and commands contain it.
 * @param options with `all`, includes the sentences that a long explanation summarizes
 */
export function formatRefusal({ conflict, hint, unavailable }: DependencyRefusal, options: { readonly all?: boolean } = {}): string[] {
  const why = formatDependencyConflict(conflict);
  if (!hint) return [why];
  const unasked = unavailable.map(({ name, unavailable: reason }) => `catalog ${goQuote(name)} is unavailable (${reason})`);
  if (hint.kind === "undecided") {
    const limit = `cannot determine which bundles would satisfy the requirements: ${formatLimit(hint.limit)}`;
    return [why, limit, ...hint.proven, ...unasked];
  }
  if (hint.kind !== "none") return [why, formatRemedy(hint)];
  // What other extensions lose proves the refusal, because no bundle avoids it.
  if (conflict.provided.length + conflict.dependents.length > 0) return [why];
  return [...formatExplanation(hint.explanation, options), ...unasked];
}

const LIMITED: Readonly<Record<ReachabilityLimit, string>> = {
  packages: `the dependencies involve more than ${REACHABILITY_LIMITS.packages} packages, which is the search limit`,
  bundles: `the packages that the dependencies involve have more than ${REACHABILITY_LIMITS.bundles} bundles, which is the search limit`,
  comparisons: `the dependencies need more than ${REACHABILITY_LIMITS.comparisons} comparisons of bundles with constraints, which is the search limit`,
  evaluations: `the dependencies need more than ${REACHABILITY_LIMITS.evaluations} evaluations of CEL rules, which is the search limit`,
};

function formatLimit(limit: SearchLimit): string {
  if (limit.kind === "reachability") return LIMITED[limit.limit];
  if (limit.kind === "time") return `the search exceeded ${limit.seconds} seconds`;
  return `the search exceeded ${limit.kind === "steps" ? `${limit.steps} steps` : `${limit.mib} MiB of memory`}`;
}

/** Formats a remedy as one clause. */
function formatRemedy(remedy: Remedy): string {
  const { bundles } = remedy;
  if (remedy.kind === "offered") return formatOffered(bundles, remedy.canPrecede);
  if (remedy.kind === "selectCatalog")
    return `${nameBundles(bundles)} would satisfy the requirements, but spec.source.catalog.selector does not select catalog ${goQuote(remedy.catalog)}: select the catalog and set spec.dependencies.policy to Install, or create ${nameExtensions(bundles)}`;
  if (remedy.kind === "steps") {
    const then = bundles.length > 0 ? `; then ${formatOffered(bundles, remedy.canPrecede)}` : "";
    return `to allow the installation, first ${remedy.steps.map(formatStep).join(", then ")}${then}`;
  }
  const also = bundles.length > 0 ? `; ${nameBundles(bundles)} must be installed too` : "";
  return `version deadlock: it can only be installed together with an update of ${formatEnumeration(remedy.updates.map(formatUpdate))}, and each requires the other first; to update one of them first, set its spec.dependencies.policy to Ignore${also}`;
}

function formatOffered(bundles: readonly SolverBundle[], canPrecede: boolean): string {
  const would = `${nameBundles(bundles)} would satisfy the requirements`;
  if (canPrecede) return `${would}: create ${nameExtensions(bundles)}, or set spec.dependencies.policy to Install`;
  return `${would}, but cannot be installed before this bundle: set spec.dependencies.policy to Install`;
}

function nameBundles(bundles: readonly SolverBundle[]): string {
  const named = bundles.map(({ name, catalog = "" }) => `${goQuote(name)} (catalog ${goQuote(catalog)})`);
  return `${bundles.length === 1 ? "bundle" : "bundles"} ${formatEnumeration(named)}`;
}

function nameExtensions(bundles: readonly SolverBundle[]): string {
  const packages = formatEnumeration(bundles.map(({ packageName }) => goQuote(packageName)));
  return bundles.length === 1 ? `a ClusterExtension for package ${packages}` : `ClusterExtensions for packages ${packages}`;
}

function formatStep(step: RemedyStep): string {
  if (step.kind === "install") return `install ${nameBundles([step.bundle])} with ${nameExtensions([step.bundle])}`;
  if (step.excludedBy === undefined) return `update ${formatUpdate(step)}`;
  const { extension, bundle } = step;
  const version = bundle.version ? formatVersionRelease(bundle.version) : bundle.name;
  return `allow version ${version} in spec.source.catalog.version of ClusterExtension ${goQuote(extension)} (now limited to ${goQuote(step.excludedBy)}), and update it to bundle ${goQuote(bundle.name)}`;
}

function formatUpdate({ extension, bundle }: PeerUpdate): string {
  return `ClusterExtension ${goQuote(extension)} to bundle ${goQuote(bundle.name)}`;
}
