import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { mapInParallel } from "../../async/concurrency.ts";
import type { PackageContent } from "../../fbc/types.ts";
import type { Candidate } from "../../resolve/candidates.ts";
import type { BundleConstraint } from "../../resolve/constraint/constraint.ts";
import { isDependency, toProvider } from "../../resolve/constraint/parse.ts";
import { StepBudget } from "../../resolve/constraint/stepBudget.ts";
import type { AvailableBundle } from "../../resolve/dependencies/bundleIndex.ts";
import {
  type DependencyConflict,
  findDependencyConflict,
  formatDependencyConflict,
  type InstallContext,
} from "../../resolve/dependencies/dependencyCheck.ts";
import { type DependencyCheck, filterByDependencies, findBestRejected } from "../../resolve/dependencies/dependencyFilter.ts";
import { computeDependencyRange } from "../../resolve/dependencies/dependencyRange.ts";
import { findReachablePackages, type IndexedCatalog } from "../../resolve/dependencies/reachablePackages.ts";
import { findHint, formatHint, type ResolutionHint, type UnavailableCatalog } from "../../resolve/dependencies/resolutionHints.ts";
import { type CatalogIndex, toSolverBundles } from "../../resolve/dependencies/solverProblem.ts";
import type { FilterResult } from "../../resolve/filters.ts";
import type { FilteredCatalogs, Resolution, SuccessfulResolution } from "../../resolve/resolution.ts";
import { chooseBest } from "../../resolve/resolve.ts";
import type { SolverBundle } from "../../resolve/solver/problem.ts";
import type { CatalogBundleIndexes } from "../catalogs/catalogBundleIndexes.ts";
import type { CatalogPackages } from "../catalogs/catalogPackages.ts";
import type { UnblockCheck } from "../state/conditionPoller.ts";
import type { DependencyNeed, PendingDependencies } from "../state/phases.ts";
import type { ConstraintCache } from "./constraintCache.ts";
import { canBeNamed } from "./dependencyExtensions.ts";
import type { InstallContextReader } from "./installContext.ts";

/** Dependencies of DependencyChoice. */
export interface DependencyChoiceOptions {
  installContext: Pick<InstallContextReader, "read" | "hasConstraints" | "isKnown">;
  indexes: Pick<CatalogIndexReader, "read">;
  constraints: ConstraintCache;
}

/** A resolution with checked dependencies. */
export interface DependencyResolution {
  readonly resolution: Resolution;
  /** With policy Install: bundles to install before the chosen one. */
  readonly pending?: PendingDependencies | undefined;
  /** The best bundle that was rejected because of its dependencies. */
  readonly rejected?: RejectedBundle | undefined;
}

/** A bundle that was rejected because of its dependencies. */
export interface RejectedBundle {
  readonly bundle: string;
  /** Reasons and remedies. */
  readonly clauses: readonly string[];
  /** Returns whether the conflict has changed. */
  readonly isOver: UnblockCheck;
}

/**
 * Number of undecided dependency searches after which the remaining candidates are skipped. Each search takes a second.
 */
const MAX_UNDECIDED = 2;

/** A choice in progress. */
interface ChoiceRequest {
  readonly extension: ClusterExtension;
  readonly filtered: FilteredCatalogs;
  readonly catalogs: readonly ClusterCatalog[];
  readonly context: InstallContext;
  /** The conflicts of rejected candidates. */
  readonly conflicts: ReadonlyMap<Candidate, DependencyConflict>;
  readonly signal: AbortSignal;
  /** The CEL rules of all steps of the choice together are limited. */
  readonly budget: StepBudget;
}

/**
 * Chooses the best candidate whose dependencies are satisfied and that breaks no installed bundle. With policy Install,
 * chooses the best candidate whose dependencies can be installed. Reads catalogs only if dependencies are missing.
 */
export class DependencyChoice {
  readonly #options: DependencyChoiceOptions;
  readonly #waiting = new Set<string>();

  constructor(options: DependencyChoiceOptions) {
    this.#options = options;
  }

  /** Names of extensions whose last resolution rejected a better bundle or waits for dependencies. */
  get waiting(): ReadonlySet<string> {
    return this.#waiting;
  }

  /** Removes the state of a deleted extension. */
  forget(extension: string): void {
    this.#waiting.delete(extension);
  }

  /** Returns the conflict of a bundle with the installed ones, regardless of catalogs; undefined if there is none. */
  async findConflict(
    { metadata: { name } }: ClusterExtension,
    bundle: AvailableBundle,
  ): Promise<{ readonly text: string; readonly isOver: UnblockCheck } | undefined> {
    const { constraints, installContext } = this.#options;
    await constraints.prepare([bundle.properties]);
    const findNow = async (): Promise<string | undefined> => {
      const context = await installContext.read(name);
      const conflict = constraints.bounded(() => this.#findConflict(bundle, context));
      return conflict && formatDependencyConflict(conflict);
    };
    const text = await findNow();
    if (text === undefined) return undefined;
    this.#waiting.add(name);
    return { text, isOver: async () => (await findNow()) !== text };
  }

  /**
   * Chooses the best candidate whose dependencies are satisfied.
   * @param catalogs the catalogs that the extension selects. @throws as `InstallContextReader.read`. @throws StepLimitError if the
   * CEL rules of the bundles take too many steps.
   */
  async choose(
    extension: ClusterExtension,
    filtered: FilteredCatalogs,
    catalogs: readonly ClusterCatalog[],
    signal: AbortSignal,
  ): Promise<DependencyResolution> {
    const { name } = extension.metadata;
    this.#waiting.add(name);
    const chosen = await this.#choose(extension, filtered, catalogs, signal);
    if (!chosen.rejected && !chosen.pending) this.#waiting.delete(name);
    return chosen;
  }

  async #choose(
    extension: ClusterExtension,
    filtered: FilteredCatalogs,
    catalogs: readonly ClusterCatalog[],
    signal: AbortSignal,
  ): Promise<DependencyResolution> {
    const { constraints, installContext } = this.#options;
    const { name } = extension.metadata;
    const resolution = chooseBest(filtered);
    if (resolution.kind === "resolved" && keepsInstalled(resolution)) return { resolution };
    const candidates = filtered.results.flatMap(({ allowed }) => allowed);
    const declares = candidates.some(({ bundle }) => bundle.properties.some(({ type }) => isDependency(type)));
    // A first installation breaks no installed bundle, so it need not wait until all installed bundles are known.
    const isKnown = installContext.isKnown || filtered.query.installedName === undefined;
    if (!declares && isKnown && !(await installContext.hasConstraints(name))) return { resolution };
    await constraints.prepare(candidates.map(({ bundle }) => bundle.properties));
    const context = await installContext.read(name);
    const conflicts = new Map<Candidate, DependencyConflict>();
    const check: DependencyCheck = (candidate) => {
      const conflict = this.#findConflict(candidate.bundle, context);
      if (conflict) conflicts.set(candidate, conflict);
      return conflict && formatDependencyConflict(conflict);
    };
    const budget = new StepBudget();
    const installable = constraints.bounded(() => filterAll(filtered, check), budget);
    if (conflicts.size === 0) return { resolution: chooseBest(installable) };
    const choice = { extension, filtered, catalogs, context, conflicts, signal, budget };
    return extension.spec.dependencies?.policy === "Install" ? this.#install(choice) : this.#require(choice, installable);
  }

  /** Chooses a bundle whose dependencies are already satisfied, and finds a remedy for the best rejected bundle. */
  async #require(choice: ChoiceRequest, installable: FilteredCatalogs): Promise<DependencyResolution> {
    const resolution = chooseBest(installable);
    const best = findBestRejected(resolution, installable.results);
    if (!best) return { resolution };
    const { candidate, result } = best;
    const reachable = await this.#readIndex(choice, [candidate]);
    const conflict = choice.conflicts.get(candidate);
    const hint = this.#options.constraints.bounded(() => this.#findHint(candidate, result, choice, reachable), choice.budget);
    const clauses = conflict ? formatHint(conflict, hint, reachable.unavailable) : [best.clause];
    return { resolution, rejected: this.#rejectedBundle(candidate, clauses, choice) };
  }

  /** Checks whether bundles in catalogs satisfy the dependencies of the rejected candidates, and chooses again. */
  async #install(choice: ChoiceRequest): Promise<DependencyResolution> {
    const { filtered, conflicts } = choice;
    const reachable = await this.#readIndex(choice, [...conflicts.keys()]);
    const needs = new Map<Candidate, readonly SolverBundle[]>();
    let undecided = 0;
    const check: DependencyCheck = (candidate, result) => {
      const conflict = conflicts.get(candidate);
      if (!conflict) return undefined;
      if (undecided >= MAX_UNDECIDED) return "skipped: search limit reached";
      const hint = this.#findHint(candidate, result, choice, reachable);
      if (hint?.kind === "undecided") undecided++;
      if (hint?.kind !== "offered") return formatHint(conflict, hint, reachable.unavailable).join("; ");
      needs.set(candidate, hint.bundles);
      return undefined;
    };
    const installable = this.#options.constraints.bounded(() => filterAll(filtered, check), choice.budget);
    const resolution = chooseBest(installable);
    const best = findBestRejected(resolution, installable.results);
    const chosen = [...needs].find(([{ bundle }]) => resolution.kind === "resolved" && bundle === resolution.bundle);
    const pending = chosen && {
      needs: this.#needs(chosen[0], chosen[1], choice, reachable),
      isOver: this.#isOver(chosen[0], choice),
    };
    return { resolution, pending, rejected: best && this.#rejectedBundle(best.candidate, [best.clause], choice) };
  }

  #needs({ bundle }: Candidate, added: readonly SolverBundle[], { context }: ChoiceRequest, { index }: ReachableIndex): DependencyNeed[] {
    const dependent = { ...toProvider(bundle), constraints: index.read(bundle).constraints };
    return added.map((one) => {
      const others = [dependent, ...added.filter((other) => other !== one)];
      const version = computeDependencyRange({
        bundle: one,
        others: [...others, ...context.peers.map(({ provider }) => provider)],
        served: context.served.map(({ gvk }) => gvk),
        constraints: [...others, one].flatMap(({ constraints }) => constraints),
        content: index.packageOf(one.catalog ?? "", one.packageName),
      });
      return { bundle: one, version };
    });
  }

  #rejectedBundle(candidate: Candidate, clauses: readonly string[], choice: ChoiceRequest): RejectedBundle {
    return { bundle: candidate.bundle.name, clauses, isOver: this.#isOver(candidate, choice) };
  }

  #isOver(candidate: Candidate, { extension, conflicts }: ChoiceRequest): UnblockCheck {
    const before = conflicts.get(candidate);
    return async () => {
      const context = await this.#options.installContext.read(extension.metadata.name);
      const now = this.#options.constraints.bounded(() => this.#findConflict(candidate.bundle, context));
      return (now && formatDependencyConflict(now)) !== (before && formatDependencyConflict(before));
    };
  }

  #findConflict(bundle: AvailableBundle, context: InstallContext): DependencyConflict | undefined {
    return findDependencyConflict({ provider: toProvider(bundle), declared: this.#options.constraints.read(bundle) }, context);
  }

  /** Returns a remedy; undefined if only the catalog author can provide one. */
  #findHint(
    candidate: Candidate,
    result: FilterResult,
    { context, conflicts }: ChoiceRequest,
    { index, packages, isComplete }: ReachableIndex,
  ): ResolutionHint | undefined {
    if (conflicts.get(candidate)?.kind === "faulty") return undefined;
    const { catalog, priority, content } = result;
    const source = { packageOf: () => content, read: index.read };
    const [bundle] = toSolverBundles(candidate.bundle.package, [candidate.bundle], { catalog, priority }, source);
    const hint = bundle && findHint(bundle, context, packages, index);
    if (isComplete || hint?.kind !== "none") return hint;
    return { kind: "undecided", reason: "the dependencies involve more packages than can be searched" };
  }

  /**
   * Reads catalogs for the constraints of the candidates, and for those of installed bundles that a candidate would
   * break.
   */
  #readIndex(
    { catalogs, filtered, context, conflicts, signal, budget }: ChoiceRequest,
    candidates: readonly Candidate[],
  ): Promise<ReachableIndex> {
    const { constraints, indexes } = this.#options;
    const breaks = candidates.some((candidate) => conflicts.get(candidate)?.kind === "breaks");
    const constraintsToMeet = [
      ...candidates.flatMap(({ bundle }) => constraints.read(bundle).constraints),
      ...(breaks ? context.peers.flatMap(({ declared }) => declared.constraints) : []),
    ];
    return indexes.read(catalogs, constraintsToMeet, new Set([filtered.query.packageName]), signal, budget);
  }
}

/** Reports whether the installed bundle is the best candidate. It is kept regardless of its dependencies. */
function keepsInstalled({ bundle, edge, filtered: { query } }: SuccessfulResolution): boolean {
  return bundle.name === query.installedName && edge?.via === "stay";
}

function filterAll(filtered: FilteredCatalogs, check: DependencyCheck): FilteredCatalogs {
  return { ...filtered, results: filtered.results.map((result) => filterByDependencies(result, filtered.query, check)) };
}

/** Dependencies of CatalogIndexReader. */
export interface CatalogIndexReaderOptions {
  indexes: Pick<CatalogBundleIndexes, "read">;
  contents: Pick<CatalogPackages, "read">;
  constraints: ConstraintCache;
}

/** Bundles in catalogs that may satisfy constraints. */
interface ReachableIndex {
  readonly index: CatalogIndex;
  /** The packages that may be part of a solution. */
  readonly packages: ReadonlySet<string>;
  /** False if the search limit was reached. */
  readonly isComplete: boolean;
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
   * @param settled packages that are not searched because their bundle is already determined.
   * @throws StepLimitError if the CEL rules of the bundles exceed `budget`.
   */
  async read(
    clusterCatalogs: readonly ClusterCatalog[],
    unmet: readonly BundleConstraint[],
    settled: ReadonlySet<string>,
    signal: AbortSignal,
    budget: StepBudget,
  ): Promise<ReachableIndex> {
    const { indexes, constraints } = this.#options;
    const reads = await indexes.read(clusterCatalogs, signal);
    const unavailable = reads.flatMap((one) => (one.unavailable === undefined ? [] : [{ name: one.name, unavailable: one.unavailable }]));
    const catalogs = reads.flatMap(({ name, priority, index }): IndexedCatalog[] => (index ? [{ catalog: name, priority, index }] : []));
    if (catalogs.some(({ index }) => index.mentionsCel)) await constraints.prepareCel();
    const reached = await constraints.inTurns(findReachablePackages(unmet, catalogs, constraints.read, settled), signal, budget);
    const packages = new Set([...reached.packages].filter(canBeNamed));
    const contents = await this.#contents(clusterCatalogs, [...packages], catalogs, signal);
    const getPackage = (catalog: string, packageName: string): PackageContent | undefined => contents.get(`${catalog}/${packageName}`);
    return { index: { catalogs, packageOf: getPackage, read: constraints.read }, packages, isComplete: reached.isComplete, unavailable };
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
