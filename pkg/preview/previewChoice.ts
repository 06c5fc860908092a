import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import { systemClock } from "../async/clock.ts";
import { KeyedLock } from "../async/keyedLock.ts";
import { CatalogBundleIndexes } from "../operatorcontroller/catalogs/catalogBundleIndexes.ts";
import { CatalogPackages } from "../operatorcontroller/catalogs/catalogPackages.ts";
import { CatalogIndexReader } from "../operatorcontroller/dependencies/catalogIndexReader.ts";
import { ConstraintCache, loadCelRules } from "../operatorcontroller/dependencies/constraintCache.ts";
import { DependencyChoice, type DependencyResolution } from "../operatorcontroller/dependencies/dependencyChoice.ts";
import { BlockingHintSearch, type HintSearch } from "../operatorcontroller/dependencies/hintSearch.ts";
import { readCandidates } from "../operatorcontroller/reconcile/resolve.ts";
import type { KnownPlan } from "../operatorcontroller/state/knownPlan.ts";
import type { FilteredCatalogs } from "../resolve/resolution.ts";
import type { WholeCatalogs } from "../sources/wholeCatalogs.ts";
import type { KnownInstallContext } from "./installContext.ts";

/** How previews search for dependencies. */
export interface DependencySearch {
  readonly constraints: ConstraintCache;
  /** Evaluates CEL rules with `constraints`. */
  readonly search: HintSearch;
}

/** Returns a search in this thread, which a hard problem blocks for seconds. For programs with one user. */
export function createDependencySearch(): DependencySearch {
  const constraints = new ConstraintCache(loadCelRules);
  return { constraints, search: new BlockingHintSearch(constraints) };
}

/** The sources of a choice outside the controller. */
export interface PreviewChoiceSources extends DependencySearch {
  /** All catalogs, whether or not an extension selects them. */
  readonly catalogs: readonly ClusterCatalog[];
  readonly whole: WholeCatalogs;
  readonly known: KnownInstallContext;
  readonly signal: AbortSignal;
}

/** Chooses bundles with the dependency checks of operator-controller, and changes nothing on the cluster. */
export class PreviewChoice {
  readonly #sources: PreviewChoiceSources;
  readonly #contents: CatalogPackages;
  readonly #choice: DependencyChoice;

  constructor(sources: PreviewChoiceSources) {
    this.#sources = sources;
    const { whole, catalogs, constraints, search, known, signal } = sources;
    const indexes = new CatalogBundleIndexes(
      { bundleIndex: async (base, ref) => ({ index: (await whole.of(ref, base)).index, tags: new Map() }) },
      systemClock,
      signal,
    );
    this.#contents = new CatalogPackages({ packageContent: async (base, ref, name) => (await whole.of(ref, base)).packageContent(name) });
    const reader = new CatalogIndexReader({ indexes, contents: this.#contents, constraints, catalogs: { list: () => catalogs } });
    const { installContext, plans, extensions } = known;
    this.#choice = new DependencyChoice({
      installContext,
      indexes: reader,
      constraints,
      search,
      plans,
      extensions,
      lock: new KeyedLock(),
      enqueue: () => undefined,
    });
  }

  /** Chooses as `DependencyChoice.choose`. If the extension is in the plan of another one, first compares this plan with the catalogs. */
  async choose(
    extension: ClusterExtension,
    filtered: FilteredCatalogs,
    selected: readonly ClusterCatalog[],
    signal: AbortSignal,
  ): Promise<DependencyResolution> {
    const { name } = extension.metadata;
    const { plans } = this.#sources.known;
    const plan = plans.find(name);
    if (plan && plan.root !== name && !plan.bundles) await this.#checkPlan(plan, signal);
    const found = await this.#choice.choose(extension, filtered, selected, signal);
    // A plan from the status has its bundles only after it was compared with the catalogs.
    const loaded = plans.find(name);
    return found.plan && loaded?.status.digest === found.plan.status.digest ? { ...found, plan: loaded } : found;
  }

  /** Loads the bundles of a plan from the catalogs, as the reconcile of its root does. */
  async #checkPlan({ root }: KnownPlan, signal: AbortSignal): Promise<void> {
    const { known, catalogs } = this.#sources;
    const extension = known.extensions.list().find(({ metadata }) => metadata.name === root);
    const source = extension?.spec.source.catalog;
    if (!extension || !source) return known.plans.remove(root);
    const installed = extension.status?.install?.bundle;
    const sources = { catalogs: { list: () => catalogs }, contents: this.#contents };
    const { selected, filtered } = await readCandidates(sources, { source, installed }, signal);
    if (filtered.kind === "unresolved") known.plans.remove(root);
    else await this.#choice.choose(extension, filtered, selected, signal);
  }
}
