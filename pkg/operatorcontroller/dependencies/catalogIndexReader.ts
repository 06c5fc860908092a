import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import { mapInParallel } from "../../async/concurrency.ts";
import type { PackageContent } from "../../fbc/types.ts";
import type { StepBudget } from "../../resolve/constraint/stepBudget.ts";
import type { CatalogIndex, IndexedCatalog } from "../../resolve/dependencies/catalogIndex.ts";
import { findReachablePackages, type ReachabilityRequest, type ReachablePackages } from "../../resolve/dependencies/reachablePackages.ts";
import type { UnavailableCatalog } from "../../resolve/dependencies/resolutionHints.ts";
import type { CatalogBundleIndexes } from "../catalogs/catalogBundleIndexes.ts";
import type { CatalogPackages } from "../catalogs/catalogPackages.ts";
import type { ConstraintCache } from "./constraintCache.ts";

/** Dependencies of CatalogIndexReader. */
export interface CatalogIndexReaderOptions {
  indexes: Pick<CatalogBundleIndexes, "read">;
  contents: Pick<CatalogPackages, "read">;
  constraints: ConstraintCache;
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
