import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import { mapInParallel } from "../../async/concurrency.ts";
import type { PackageContent } from "../../fbc/types.ts";
import type { BundleConstraint } from "../../resolve/constraint/constraint.ts";
import type { Silent } from "../../resolve/dependencies/resolutionHints.ts";
import { type Offering, packagesInReach } from "../../resolve/dependencies/reach.ts";
import type { Market } from "../../resolve/dependencies/solverProblem.ts";
import type { CatalogContents } from "../catalogs/catalogContents.ts";
import type { CatalogOffers } from "../catalogs/catalogOffers.ts";
import type { ConstraintCache } from "./constraintCache.ts";
import { canBeNamed } from "./dependencyExtension.ts";

/** Where offers of catalogs, contents of packages and constraints of bundles are read. */
export interface MarketReaderOptions {
  offers: Pick<CatalogOffers, "of">;
  contents: Pick<CatalogContents, "of">;
  constraints: ConstraintCache;
}

/** What catalogs offer for some constraints. */
export interface ReadMarket {
  readonly market: Market;
  /** The packages that may have a part in a solution. */
  readonly packages: ReadonlySet<string>;
  /** False where there are more than can be looked at. */
  readonly isComplete: boolean;
  /** Catalogs that could not be asked. */
  readonly silent: readonly Silent[];
}

/** Packages asked for at once. */
const AT_ONCE = 8;

/** Reads from catalogs what may meet constraints: who provides what in all of them, and of the packages in question channels and deprecations. */
export class MarketReader {
  readonly #options: MarketReaderOptions;

  constructor(options: MarketReaderOptions) {
    this.#options = options;
  }

  /** @param settled packages that are given, of which nothing needs to be known. */
  async read(
    catalogs: readonly ClusterCatalog[],
    wanted: readonly BundleConstraint[],
    settled: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<ReadMarket> {
    const { offers, constraints } = this.#options;
    const answers = await offers.of(catalogs, signal);
    const silent = answers.flatMap(({ name, unavailable }) => (unavailable === undefined ? [] : [{ name, unavailable }]));
    const offerings = answers.flatMap(({ name, priority, index }): Offering[] => (index ? [{ catalog: name, priority, index }] : []));
    if (offerings.some(({ index }) => index.mentionsCel)) await constraints.prepareCel();
    const reached = await constraints.inTurns(packagesInReach(wanted, offerings, constraints.read, settled), signal);
    const packages = new Set([...reached.packages].filter(canBeNamed));
    const contents = await this.#contents(catalogs, [...packages], offerings, signal);
    const packageOf = (catalog: string, packageName: string): PackageContent | undefined => contents.get(`${catalog}/${packageName}`);
    return { market: { offerings, packageOf, read: constraints.read }, packages, isComplete: reached.isComplete, silent };
  }

  async #contents(
    catalogs: readonly ClusterCatalog[],
    packages: readonly string[],
    offerings: readonly Offering[],
    signal: AbortSignal,
  ): Promise<Map<string, PackageContent | undefined>> {
    const pairs = packages.flatMap((packageName) =>
      offerings.filter(({ index }) => index.bundlesOf(packageName).length > 0).map(({ catalog }) => ({ catalog, packageName })),
    );
    const read = await mapInParallel(pairs, AT_ONCE, async ({ catalog, packageName }) => {
      const asked = catalogs.filter(({ metadata }) => metadata.name === catalog);
      const [answer] = await this.#options.contents.of(asked, packageName, signal);
      return [`${catalog}/${packageName}`, answer?.content] as const;
    });
    return new Map(read);
  }
}
