import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import { mapInParallel } from "../../async/concurrency.ts";
import type { PackageContent } from "../../fbc/types.ts";
import type { Provider } from "../../resolve/constraint/constraint.ts";
import { meets } from "../../resolve/constraint/evaluate.ts";
import { toProvider } from "../../resolve/constraint/parse.ts";
import type { StepBudget } from "../../resolve/constraint/stepBudget.ts";
import type { AvailableBundle, BundleIndex } from "../../resolve/dependencies/bundleIndex.ts";
import type { CatalogIndex, IndexedCatalog } from "../../resolve/dependencies/catalogIndex.ts";
import {
  findReachablePackages,
  type MissingConstraint,
  REACHABILITY_LIMITS,
  type ReachabilityRequest,
  type ReachablePackages,
} from "../../resolve/dependencies/reachablePackages.ts";
import type { UnavailableCatalog } from "../../resolve/dependencies/resolutionHints.ts";
import { compareText } from "../../text/compare.ts";
import type { CatalogBundleIndexes } from "../catalogs/catalogBundleIndexes.ts";
import type { CatalogPackages } from "../catalogs/catalogPackages.ts";
import type { ConstraintCache } from "./constraintCache.ts";

/** Dependencies of CatalogIndexReader. */
export interface CatalogIndexReaderOptions {
  indexes: Pick<CatalogBundleIndexes, "read">;
  contents: Pick<CatalogPackages, "read">;
  constraints: ConstraintCache;
  /** All catalogs, whether or not an extension selects them. */
  catalogs: { list(): readonly ClusterCatalog[] };
}

/** Bundles in catalogs that may satisfy constraints. */
export interface ReachableIndex {
  readonly index: CatalogIndex;
  /** The packages that may be part of a solution if all installed bundles stay. */
  readonly added: ReachablePackages;
  /** The packages that may be part of a solution if higher versions may replace installed bundles. */
  readonly moved: ReachablePackages;
  readonly unavailable: readonly UnavailableCatalog[];
}

/** Maximum number of catalogs, other than the selected ones, that are searched for missing bundles. */
const MAX_OTHERS = 4;
/** Number of packages to read concurrently. */
const PARALLEL_PACKAGES = 8;

/**
 * Reads the bundles that may satisfy constraints from catalogs, with the channels and deprecations of their packages.
 */
export class CatalogIndexReader {
  readonly #options: CatalogIndexReaderOptions;

  constructor(options: CatalogIndexReaderOptions) {
    this.#options = options;
  }

  /**
   * @param request the candidates of one package, and where they are installed.
   * @throws StepLimitError if the CEL rules of the bundles exceed `budget`.
   */
  async read(
    clusterCatalogs: readonly ClusterCatalog[],
    request: Omit<ReachabilityRequest, "canMove">,
    signal: AbortSignal,
    budget: StepBudget,
  ): Promise<ReachableIndex> {
    const { indexes, constraints } = this.#options;
    const reads = await indexes.read(clusterCatalogs, signal);
    const unavailable = reads.flatMap((one) => (one.unavailable === undefined ? [] : [{ name: one.name, unavailable: one.unavailable }]));
    const labels = new Map(clusterCatalogs.map(({ metadata }) => [metadata.name, metadata.labels ?? {}]));
    const catalogs = reads.flatMap(({ name, priority, index }): IndexedCatalog[] =>
      index ? [{ catalog: name, priority, index, labels: labels.get(name) ?? {} }] : [],
    );
    if (catalogs.some(({ index }) => index.mentionsCel)) await constraints.prepareCel();
    const find = (canMove: boolean): Promise<ReachablePackages> =>
      constraints.inTurns(findReachablePackages({ ...request, canMove }, catalogs, constraints.read), signal, budget);
    const added = await find(false);
    const moved = await find(true);
    const contents = await this.#contents(clusterCatalogs, [...new Set([...added.packages, ...moved.packages])], catalogs, signal);
    const getPackage = (catalog: string, packageName: string): PackageContent | undefined => contents.get(`${catalog}/${packageName}`);
    return { index: { catalogs, packageOf: getPackage, read: constraints.read }, added, moved, unavailable };
  }

  /**
   * Returns catalogs that are not among the selected ones and have a bundle that meets one of the constraints, highest priority first. Excludes catalogs
   * with the package itself: selecting them would change which bundles can be chosen.
   */
  async findOthers(
    selected: readonly ClusterCatalog[],
    missing: readonly MissingConstraint[],
    packageName: string,
    signal: AbortSignal,
  ): Promise<readonly ClusterCatalog[]> {
    if (missing.length === 0) return [];
    const names = new Set(selected.map(({ metadata }) => metadata.name));
    const others = this.#options.catalogs
      .list()
      .filter(({ metadata }) => !names.has(metadata.name) && metadata.deletionTimestamp === undefined)
      .sort((a, b) => (b.spec.priority ?? 0) - (a.spec.priority ?? 0) || compareText(a.metadata.name, b.metadata.name))
      .slice(0, MAX_OTHERS);
    const reads = await this.#options.indexes.read(others, signal);
    const helpful: ClusterCatalog[] = [];
    for (const [at, other] of others.entries()) {
      const index = reads[at]?.index;
      if (!index || index.bundlesOf(packageName).length > 0) continue;
      if (await this.#options.constraints.inTurns(hasBundle(index, missing), signal)) helpful.push(other);
    }
    return helpful;
  }

  async #contents(
    clusterCatalogs: readonly ClusterCatalog[],
    packages: readonly string[],
    catalogs: readonly IndexedCatalog[],
    signal: AbortSignal,
  ): Promise<Map<string, PackageContent | undefined>> {
    const pairs = packages.flatMap((packageName) =>
      catalogs.filter(({ index }) => index.bundlesOf(packageName).length > 0).map(({ catalog }) => ({ catalog, packageName })),
    );
    const read = await mapInParallel(pairs, PARALLEL_PACKAGES, async ({ catalog, packageName }) => {
      const selected = clusterCatalogs.filter(({ metadata }) => metadata.name === catalog);
      const [result] = await this.#options.contents.read(selected, packageName, signal);
      return [`${catalog}/${packageName}`, result?.content] as const;
    });
    return new Map(read);
  }
}

/**
 * Reports whether a catalog has a bundle that meets one of the constraints. Yields after each bundle. Skips the constraints on packages and APIs with too
 * many bundles.
 */
function* hasBundle(index: BundleIndex, missing: readonly MissingConstraint[]): Generator<void, boolean> {
  const providers = new Map<AvailableBundle, Provider>();
  let left: number = REACHABILITY_LIMITS.comparisons;
  for (const leaf of missing) {
    const packages = leaf.kind === "package" ? [leaf.packageName] : index.packagesProviding(leaf.gvk);
    for (const bundles of packages.map((name) => index.bundlesOf(name))) {
      if (bundles.length > left) continue;
      left -= bundles.length;
      for (const bundle of bundles) {
        yield;
        const provider = providers.get(bundle) ?? toProvider(bundle);
        providers.set(bundle, provider);
        if (meets(provider, leaf)) return true;
      }
    }
  }
  return false;
}
