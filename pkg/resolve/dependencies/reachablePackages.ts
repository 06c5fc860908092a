import type { BundleConstraint, CelConstraint } from "../constraint/constraint.ts";
import type { DeclaredConstraints } from "../constraint/parse.ts";
import type { AvailableBundle, BundleIndex } from "./bundleIndex.ts";

/** One catalog that may be asked for what is missing. */
export interface IndexedCatalog {
  readonly catalog: string;
  readonly priority: number;
  readonly index: BundleIndex;
}

/** Reads what a bundle asks of others. */
export type ReadConstraints = (bundle: AvailableBundle) => DeclaredConstraints;

/** The packages that may have a part in a solution. */
export interface ReachablePackages {
  readonly packages: ReadonlySet<string>;
  /** False where there are more, which were left out. */
  readonly isComplete: boolean;
}

/** Most packages, and bundles of them together, that one search is about; public catalogs reach some dozens. */
const MAX_PACKAGES = 500;
const MAX_BUNDLES = 20_000;
/** Most bundles that rules over properties are tried on, of all rules of one search together. */
const MAX_TRIED = 100_000;

/**
 * The packages that could meet one of the constraints, or one of those of their bundles, and so on. What `settled` holds is given and leads
 * nowhere. Breadth first, so that the nearest are in it where there are too many; the order of constraints and catalogs does not matter otherwise.
 * It yields before it tries a rule of CEL on a bundle, or reads the constraints of one, which may take some ten milliseconds.
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
    for (const constraint of frontier) for (const name of yield* packagesFor(constraint, { catalogs, seen, budget })) names.add(name);
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

/** What one search asks, and has asked. */
interface Asking {
  readonly catalogs: readonly IndexedCatalog[];
  /** Rules that were asked before. */
  readonly seen: Set<string>;
  readonly budget: { tried: number };
}

/** Packages of which a bundle may meet a part of the constraint; what a `not` excludes is none of them. */
function* packagesFor(constraint: BundleConstraint, asking: Asking): Generator<void, string[]> {
  if (constraint.kind === "package") return [constraint.packageName];
  if (constraint.kind === "gvk") return asking.catalogs.flatMap(({ index }) => index.packagesProviding(constraint.gvk));
  if (constraint.kind === "cel") return yield* packagesRuledIn(constraint, asking);
  const found: string[] = [];
  const members = constraint.kind === "not" ? packagesExcluded : packagesFor;
  for (const member of constraint.constraints) found.push(...(yield* members(member, asking)));
  return found;
}

/** Under a `not` only another `not` asks for something. */
function* packagesExcluded(constraint: BundleConstraint, asking: Asking): Generator<void, string[]> {
  if (!("constraints" in constraint)) return [];
  const found: string[] = [];
  const members = constraint.kind === "not" ? packagesFor : packagesExcluded;
  for (const member of constraint.constraints) found.push(...(yield* members(member, asking)));
  return found;
}

function* packagesRuledIn({ rule, holds }: CelConstraint, { catalogs, seen, budget }: Asking): Generator<void, string[]> {
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
