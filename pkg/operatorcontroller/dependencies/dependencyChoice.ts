import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { Candidate } from "../../resolve/candidates.ts";
import { declaresDependency, toProvider } from "../../resolve/constraint/parse.ts";
import { StepBudget } from "../../resolve/constraint/stepBudget.ts";
import type { AvailableBundle } from "../../resolve/dependencies/bundleIndex.ts";
import {
  type DependencyConflict,
  findDependencyConflict,
  formatDependencyConflict,
  type InstallContext,
} from "../../resolve/dependencies/dependencyCheck.ts";
import { type DependencyCheck, filterByDependencies, findBestRejected } from "../../resolve/dependencies/dependencyFilter.ts";
import type { DependencyRefusal } from "../../resolve/dependencies/resolutionHints.ts";
import type { FilteredCatalogs, Resolution, SuccessfulResolution } from "../../resolve/resolution.ts";
import { chooseBest } from "../../resolve/resolve.ts";
import { StepCounter } from "../../resolve/solver/stepCounter.ts";
import type { UnblockCheck } from "../state/conditionPoller.ts";
import type { KnownPlan } from "../state/knownPlan.ts";
import {
  type ChoiceRequest,
  DependencyPlanner,
  type DependencyPlannerOptions,
  type PlannedResolution,
  type PlanSubject,
  type RejectedPlan,
} from "./dependencyPlanner.ts";
import type { InstallContextReader } from "./installContext.ts";

/** Dependencies of DependencyChoice. */
export interface DependencyChoiceOptions extends DependencyPlannerOptions {
  installContext: Pick<InstallContextReader, "read" | "hasConstraints" | "isKnown">;
  /** Returns the catalogs to search for dependencies, see `listSearchedCatalogs`. Default: those that the extension selects. */
  listSearched?: (extension: ClusterExtension, selected: readonly ClusterCatalog[]) => readonly ClusterCatalog[];
}

/** A resolution with checked dependencies. */
export interface DependencyResolution {
  readonly resolution: Resolution;
  /** The plan that installs the bundle with its dependencies. */
  readonly plan?: KnownPlan | undefined;
  /** The best bundle that was rejected because of its dependencies. */
  readonly rejected?: RejectedBundle | undefined;
}

/** A bundle that was rejected because of its dependencies. */
export interface RejectedBundle {
  readonly bundle: string;
  /** Reasons and remedies. */
  readonly clauses: readonly string[];
  /** The data of the clauses; absent if the bundle was not checked. */
  readonly refusal?: DependencyRefusal | undefined;
  /** Returns whether the conflict has changed. */
  readonly isOver: UnblockCheck;
}

/**
 * Chooses the best candidate whose dependencies are satisfied and that breaks no installed bundle. With policy Install,
 * chooses the best candidate whose dependencies can be installed. An extension in a plan in progress resolves to its
 * planned bundle. Reads catalogs only if dependencies are missing.
 */
export class DependencyChoice {
  readonly #options: DependencyChoiceOptions;
  readonly #planner: DependencyPlanner;
  readonly #waiting = new Set<string>();

  constructor(options: DependencyChoiceOptions) {
    this.#options = options;
    this.#planner = new DependencyPlanner(options);
  }

  /** Names of extensions whose last resolution rejected a better bundle or waits for dependencies. */
  get waiting(): ReadonlySet<string> {
    return this.#waiting;
  }

  /** Removes the state of a deleted extension. */
  forget(extension: string): void {
    this.#waiting.delete(extension);
    this.#options.plans.remove(extension);
  }

  /** Returns a choice that makes the same decisions from now on and changes nothing. */
  copy(): DependencyChoice {
    return new DependencyChoice({ ...this.#options, plans: this.#options.plans.copy(), enqueue: () => undefined });
  }

  /** Returns the conflict of a bundle with the installed ones, regardless of catalogs; undefined if there is none. */
  async findConflict(
    { metadata: { name } }: ClusterExtension,
    bundle: AvailableBundle,
  ): Promise<{ readonly text: string; readonly isOver: UnblockCheck } | undefined> {
    const { constraints } = this.#options;
    await constraints.prepare([bundle.properties]);
    const findNow = async (): Promise<string | undefined> => {
      const context = await this.#readContext(name);
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
   * @param catalogs the catalogs that the extension selects.
   * @throws as `InstallContextReader.read` and `DependencyPlanner`; StepLimitError if the CEL rules of the bundles take too many steps.
   */
  async choose(
    extension: ClusterExtension,
    filtered: FilteredCatalogs,
    catalogs: readonly ClusterCatalog[],
    signal: AbortSignal,
  ): Promise<DependencyResolution> {
    const { name } = extension.metadata;
    this.#waiting.add(name);
    const searched = this.#options.listSearched?.(extension, catalogs) ?? catalogs;
    const chosen = await this.#choose({
      extension,
      filtered,
      catalogs: searched,
      signal,
      budget: new StepBudget(),
      counter: new StepCounter(),
    });
    if (!chosen.rejected && !chosen.plan) this.#waiting.delete(name);
    return chosen;
  }

  async #choose(subject: PlanSubject): Promise<DependencyResolution> {
    const { constraints, installContext } = this.#options;
    const { extension, filtered } = subject;
    const { name } = extension.metadata;
    const mayPlan = extension.spec.dependencies?.policy === "Install";
    const followed = await this.#planner.follow(subject);
    if (followed) return this.#toResolution(followed, subject);
    const resolution = chooseBest(filtered);
    if (resolution.kind === "resolved" && keepsInstalled(resolution)) return { resolution };
    const candidates = filtered.results.flatMap(({ allowed }) => allowed);
    const declares = candidates.some(({ bundle }) => declaresDependency(bundle.properties));
    // A first installation breaks no installed bundle, so it need not wait until all installed bundles are known.
    const isKnown = installContext.isKnown || filtered.query.installedName === undefined;
    if (!declares && isKnown && !(await installContext.hasConstraints(name))) return { resolution };
    await constraints.prepare(candidates.map(({ bundle }) => bundle.properties));
    const context = await this.#readContext(name);
    const conflicts = new Map<Candidate, DependencyConflict>();
    const check: DependencyCheck = (candidate) => {
      const conflict = this.#findConflict(candidate.bundle, context);
      if (conflict) conflicts.set(candidate, conflict);
      return conflict && formatDependencyConflict(conflict);
    };
    const installable = constraints.bounded(() => filterAll(filtered, check), subject.budget);
    if (conflicts.size === 0) return { resolution: chooseBest(installable) };
    const choice = { ...subject, context, conflicts };
    return mayPlan ? this.#toResolution(await this.#planner.plan(choice), choice) : this.#require(choice, installable);
  }

  /** Chooses a bundle whose dependencies are already satisfied, and finds a remedy for the best rejected bundle. */
  async #require(choice: ChoiceRequest, installable: FilteredCatalogs): Promise<DependencyResolution> {
    const resolution = chooseBest(installable);
    const best = findBestRejected(resolution, installable.results);
    if (!best) return { resolution };
    const { candidate, result } = best;
    const reachable = await this.#planner.readIndex(choice, choice.context, [candidate]);
    const conflict = choice.conflicts.get(candidate);
    const hint = await this.#planner.findHint(candidate, result, choice, reachable);
    const refusal = conflict && { conflict, hint, unavailable: reachable.unavailable };
    return { resolution, rejected: this.#toRejected(await this.#planner.toRejected(choice, reachable, best, refusal), choice) };
  }

  #toResolution({ resolution, plan, rejected }: PlannedResolution, subject: PlanSubject | ChoiceRequest): DependencyResolution {
    return {
      resolution,
      ...(plan ? { plan } : {}),
      ...(rejected ? { rejected: this.#toRejected(rejected, subject) } : {}),
    };
  }

  #toRejected({ candidate, clauses, refusal }: RejectedPlan, subject: PlanSubject | ChoiceRequest): RejectedBundle {
    const before = "conflicts" in subject ? subject.conflicts.get(candidate) : undefined;
    return { bundle: candidate.bundle.name, clauses, refusal, isOver: this.#isOver(candidate.bundle, subject, before) };
  }

  /** Returns a check whether the conflict of a bundle with the installed ones has changed. */
  #isOver(bundle: AvailableBundle, { extension }: PlanSubject, before: DependencyConflict | undefined): UnblockCheck {
    return async () => {
      const context = await this.#readContext(extension.metadata.name);
      const now = this.#options.constraints.bounded(() => this.#findConflict(bundle, context));
      return (now && formatDependencyConflict(now)) !== (before && formatDependencyConflict(before));
    };
  }

  /** Reads the install context of an extension. The bundles that its plan installs together with it count as installed. */
  async #readContext(extension: string): Promise<InstallContext> {
    const { installContext, plans } = this.#options;
    const context = await installContext.read(extension);
    const given = plans.listGiven(extension);
    const isReplaced = (name: string): boolean => given.some((peer) => peer.extension === name);
    return { ...context, peers: [...context.peers.filter((peer) => !isReplaced(peer.extension)), ...given] };
  }

  #findConflict(bundle: AvailableBundle, context: InstallContext): DependencyConflict | undefined {
    const declared = this.#options.constraints.read(bundle);
    const conflict = findDependencyConflict({ provider: toProvider(bundle), declared }, context);
    // For a bundle without dependencies, the preflight reports who owns a provided API, as the Go implementation does.
    const isOnlyProvided = conflict !== undefined && conflict.faults.length + conflict.requires.length + conflict.dependents.length === 0;
    return isOnlyProvided && declared.constraints.length === 0 ? undefined : conflict;
  }
}

/** Reports whether the installed bundle is the best candidate. It is kept regardless of its dependencies. */
function keepsInstalled({ bundle, edge, filtered: { query } }: SuccessfulResolution): boolean {
  return bundle.name === query.installedName && edge?.via === "stay";
}

function filterAll(filtered: FilteredCatalogs, check: DependencyCheck): FilteredCatalogs {
  return { ...filtered, results: filtered.results.map((result) => filterByDependencies(result, filtered.query, check)) };
}
