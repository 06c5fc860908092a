import type { BundleConstraint, CelConstraint } from "../constraint/constraint.ts";
import type { DeclaredConstraints } from "../constraint/parse.ts";
import type { AvailableBundle, BundleIndex } from "./bundleIndex.ts";

/** A catalog to search for missing dependencies. */
export interface IndexedCatalog {
  readonly catalog: string;
  readonly priority: number;
  readonly index: BundleIndex;
}

/** Parses the constraints of a bundle. */
export type ReadConstraints = (bundle: AvailableBundle) => DeclaredConstraints;

/** The packages that may be part of a solution. */
export interface ReachablePackages {
  readonly packages: ReadonlySet<string>;
  /** False if a limit was reached. */
  readonly isComplete: boolean;
}

/** Maximum number of packages, and of their bundles in total, in one search. In public catalogs, a search finds a few dozen packages. */
const MAX_PACKAGES = 500;
const MAX_BUNDLES = 20_000;
/** Maximum number of evaluations of CEL rules on bundles in one search. */
const MAX_TRIED = 100_000;

/**
 * Finds the packages that could meet one of the constraints, and transitively the constraints of their bundles. Excludes packages in `settled`, whose
 * bundles are fixed. Searches breadth first, so that the nearest packages are included if there are too many; otherwise the order of constraints and
 * catalogs does not matter. Yields before it evaluates a CEL rule on a bundle or parses the constraints of a bundle, each of which may take about ten
 * milliseconds.
 */
export function* findReachablePackages(
  constraints: readonly BundleConstraint[],
  catalogs: readonly IndexedCatalog[],
  read: ReadConstraints,
  settled: ReadonlySet<string>,
): Generator<void, ReachablePackages> {
  const packages = new Set<string>();
  const budget = { bundles: MAX_BUNDLES, tried: MAX_TRIED };
  const seen = new Set<string>();
  let isComplete = true;
  let frontier = [...constraints];
  while (frontier.length > 0) {
    const names = new Set<string>();
    for (const constraint of frontier) for (const name of yield* findPackages(constraint, { catalogs, seen, budget })) names.add(name);
    frontier = [];
    for (const name of [...names].sort()) {
      if (packages.has(name) || settled.has(name)) continue;
      const bundles = catalogs.flatMap(({ index }) => index.bundlesOf(name));
      if (bundles.length === 0) continue;
      budget.bundles -= bundles.length;
      if (packages.size >= MAX_PACKAGES || budget.bundles < 0) return { packages, isComplete: false };
      packages.add(name);
      for (const bundle of bundles) {
        yield;
        frontier.push(...read(bundle).constraints);
      }
    }
    if (budget.tried < 0) isComplete = false;
  }
  return { packages, isComplete };
}

/** The state of one search. */
interface SearchState {
  readonly catalogs: readonly IndexedCatalog[];
  /** CEL rules that were already evaluated. */
  readonly seen: Set<string>;
  readonly budget: { tried: number };
}

/** Yields the packages with a bundle that may meet a part of the constraint, except parts that a `not` excludes. */
function* findPackages(constraint: BundleConstraint, asking: SearchState): Generator<void, string[]> {
  if (constraint.kind === "package") return [constraint.packageName];
  if (constraint.kind === "gvk") return asking.catalogs.flatMap(({ index }) => index.packagesProviding(constraint.gvk));
  if (constraint.kind === "cel") return yield* findPackagesByRule(constraint, asking);
  const found: string[] = [];
  const members = constraint.kind === "not" ? findExcludingPackages : findPackages;
  for (const member of constraint.constraints) found.push(...(yield* members(member, asking)));
  return found;
}

/** Inside a `not`, only another `not` requires something. */
function* findExcludingPackages(constraint: BundleConstraint, asking: SearchState): Generator<void, string[]> {
  if (!("constraints" in constraint)) return [];
  const found: string[] = [];
  const members = constraint.kind === "not" ? findPackages : findExcludingPackages;
  for (const member of constraint.constraints) found.push(...(yield* members(member, asking)));
  return found;
}

function* findPackagesByRule({ rule, holds }: CelConstraint, { catalogs, seen, budget }: SearchState): Generator<void, string[]> {
  if (seen.has(rule)) return [];
  seen.add(rule);
  const found: string[] = [];
  for (const { index } of catalogs) {
    for (const name of index.packages) {
      for (const { properties } of index.bundlesOf(name)) {
        if (--budget.tried < 0) return found;
        yield;
        if (!holds(properties)) continue;
        found.push(name);
        break;
      }
    }
  }
  return found;
}
