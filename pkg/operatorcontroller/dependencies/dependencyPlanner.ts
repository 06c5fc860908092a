import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { PLAN_MEMBERS_MAX, Reason } from "../../api/constants.ts";
import type { KeyedLock } from "../../async/keyedLock.ts";
import { goQuote } from "../../golang/quote.ts";
import type { Candidate } from "../../resolve/candidates.ts";
import { getGvkKey, toProvider } from "../../resolve/constraint/parse.ts";
import { StepBudget } from "../../resolve/constraint/stepBudget.ts";
import type { CatalogIndex } from "../../resolve/dependencies/catalogIndex.ts";
import {
  type DependencyConflict,
  formatDependencyConflict,
  type InstallContext,
  type InstalledPeer,
} from "../../resolve/dependencies/dependencyCheck.ts";
import {
  filterByAsyncCheck,
  findBestRejected,
  type RejectedCandidate,
  type Rejection,
  rejectCandidates,
} from "../../resolve/dependencies/dependencyFilter.ts";
import { findPlanFault, selectNeeded } from "../../resolve/dependencies/dependencyPlan.ts";
import type { PlanBundle, PlanWorld } from "../../resolve/dependencies/planIndex.ts";
import type { ResolutionHint } from "../../resolve/dependencies/remedySearch.ts";
import { type DependencyRefusal, formatRefusal } from "../../resolve/dependencies/resolutionHints.ts";
import { toSolverBundles } from "../../resolve/dependencies/solverProblem.ts";
import type { FilterResult } from "../../resolve/filters.ts";
import type { FilteredCatalogs, Resolution } from "../../resolve/resolution.ts";
import { chooseBest } from "../../resolve/resolve.ts";
import type { SolverBundle } from "../../resolve/solver/problem.ts";
import { StepCounter } from "../../resolve/solver/stepCounter.ts";
import { WaitingError } from "../state/conditionPoller.ts";
import { buildPlan, findPlanMember, type KnownPlan, type PlanEntry, type PlanMember } from "../state/knownPlan.ts";
import type { CatalogIndexReader, ReachableIndex } from "./catalogIndexReader.ts";
import type { ConstraintCache } from "./constraintCache.ts";
import { chooseExtensionName, findByPackage, isDependencyExtension } from "./dependencyLabels.ts";
import { type DependencyPlans, toPeer } from "./dependencyPlans.ts";
import type { HintSearch } from "./hintSearch.ts";
import type { InstallContextReader } from "./installContext.ts";
import { computePackageLimits } from "./packageLimits.ts";

/** Dependencies of DependencyPlanner. */
export interface DependencyPlannerOptions {
  installContext: Pick<InstallContextReader, "read">;
  indexes: Pick<CatalogIndexReader, "read" | "findOthers">;
  constraints: ConstraintCache;
  search: HintSearch;
  plans: DependencyPlans;
  extensions: { list(): readonly ClusterExtension[] };
  /** Lets one extension at a time make the plan that it has found, because each plan must respect the others. */
  lock: Pick<KeyedLock, "run">;
  /** Enqueues an extension. */
  enqueue: (extension: string) => void;
}

/** What an extension may resolve to. */
export interface PlanSubject {
  readonly extension: ClusterExtension;
  readonly filtered: FilteredCatalogs;
  /** The catalogs to search for dependencies. */
  readonly catalogs: readonly ClusterCatalog[];
  readonly signal: AbortSignal;
  /** Limits the CEL rules of all steps of the choice together. */
  readonly budget: StepBudget;
  /** Counts the steps of all searches of the choice together. */
  readonly counter: StepCounter;
}

/** A subject whose candidates have been compared with the installed bundles. */
export interface ChoiceRequest extends PlanSubject {
  readonly context: InstallContext;
  /** The conflicts of rejected candidates. */
  readonly conflicts: ReadonlyMap<Candidate, DependencyConflict>;
}

/** The choice of a planner. */
export interface PlannedResolution {
  readonly resolution: Resolution;
  /** The plan that the extension follows. Absent if no plan is possible. */
  readonly plan?: KnownPlan;
  /** The best rejected candidate, and why. */
  readonly rejected?: RejectedPlan;
}

/** A rejected candidate, and why. */
export interface RejectedPlan {
  readonly candidate: Candidate;
  readonly clauses: readonly string[];
  /** The data of the clauses; absent if the candidate was not checked. */
  readonly refusal?: DependencyRefusal;
}

const LOCK = "plan";
/** Number of searches during which other extensions may make plans. During the next search, they wait. */
const MAX_UNLOCKED = 2;
/** Number of undecided dependency searches after which the remaining candidates are skipped. */
const MAX_UNDECIDED = 2;
/** Number of steps of all searches of one choice after which the remaining candidates are skipped. */
const MAX_STEPS_OF_CHOICE = 20_000_000;
/** Number of rejected candidates for which updates of other extensions are searched; only the best one is reported. */
const MAX_SUGGESTED = 3;

/** Makes the plans of policy Install, and lets each extension of a plan resolve to its planned bundle. */
export class DependencyPlanner {
  readonly #options: DependencyPlannerOptions;

  constructor(options: DependencyPlannerOptions) {
    this.#options = options;
  }

  /**
   * Chooses the bundle that the plan in progress of an extension contains.
   * @returns undefined if the extension is in no plan, or its own plan is complete or must be replaced
   * @throws WaitingError if the extension is in the plan of another one that is not ready or no longer possible
   */
  async follow(subject: PlanSubject): Promise<PlannedResolution | undefined> {
    const { plans } = this.#options;
    const { name } = subject.extension.metadata;
    const plan = plans.find(name);
    if (!plan) return undefined;
    if (plan.root !== name) return this.#followOther(subject, plan);
    // A plan that is being rolled back stays unchanged until that has ended.
    if (plans.getFailure(name) !== undefined) return choosePlanned(subject, plan);
    if (plans.isComplete(plan)) {
      plans.remove(name);
      return undefined;
    }
    const reason = plans.getRejection(name) ?? (await this.#check(subject, plan));
    if (reason === undefined) return choosePlanned(subject, plans.of(name) ?? plan);
    plans.drop(name, reason);
    return undefined;
  }

  #followOther(subject: PlanSubject, plan: KnownPlan): PlannedResolution {
    const { plans, enqueue } = this.#options;
    const { name } = subject.extension.metadata;
    const member = findPlanMember(plan, name);
    const found = plan.bundles && choosePlanned(subject, plan);
    const isKept = found?.resolution.kind === "resolved" || isUnavailable(subject, member?.catalog);
    if (found && isKept && plans.getRejection(plan.root) === undefined) return found;
    const root = `ClusterExtension ${goQuote(plan.root)}`;
    if (found && plans.getRejection(plan.root) === undefined) {
      plans.reject(plan.root, `ClusterExtension ${goQuote(name)} cannot resolve to bundle ${goQuote(member?.bundle.name ?? "")}`);
    }
    enqueue(plan.root);
    throw new WaitingError(Reason.Retrying, `waiting until ${root} has checked its plan`, {
      isOver: () => Promise.resolve(plans.find(name) !== plan),
    });
  }

  /** Compares a plan with the catalogs and the installed bundles. @returns why it must be replaced, as a clause */
  async #check(subject: PlanSubject, plan: KnownPlan): Promise<string | undefined> {
    const { constraints, installContext, plans } = this.#options;
    const { name } = subject.extension.metadata;
    const own = findPlanned(subject.filtered, findPlanMember(plan, name));
    if (!own && isUnavailable(subject, plan.status.catalog)) return undefined;
    if (!own) return `bundle ${goQuote(plan.status.bundle.name)} is no longer selected`;
    await constraints.prepare([own.candidate.bundle.properties]);
    const context = await installContext.read(name);
    const { index, unavailable } = await this.readIndex(subject, context, [own.candidate]);
    const bundles = new Map<string, SolverBundle>();
    for (const member of plan.members) {
      const isOwn = member.extension === name;
      const peer = isOwn ? context.own : context.peers.find((one) => one.extension === member.extension);
      if (peer?.bundle === member.bundle.name) continue;
      if (peer && !isOwn) return `ClusterExtension ${goQuote(member.extension)} has installed bundle ${goQuote(peer.bundle)}`;
      const isDown = unavailable.some((catalog) => catalog.name === member.catalog);
      const offered = isOwn ? toOwnBundle(own.candidate, own.result, index) : findOffered(member, index);
      const bundle = offered ?? (isDown ? plan.bundles?.get(member.extension) : undefined);
      if (!bundle && isDown) throw newPlanUnchecked(member.catalog);
      if (!bundle) return `bundle ${goQuote(member.bundle.name)} is no longer in catalog ${goQuote(member.catalog)}`;
      const image = isOwn ? own.candidate.bundle.image : findImage(bundle, index);
      if (image !== undefined && image !== member.image) return `the image of bundle ${goQuote(member.bundle.name)} has changed`;
      bundles.set(member.extension, bundle);
    }
    const planned = [...bundles.values()];
    // An API may already be served because its planned bundle has applied its definitions. The bundle is still needed for it.
    const provided = new Set(planned.flatMap(({ apis }) => apis.map(getGvkKey)));
    const served = context.served.filter(({ gvk }) => !provided.has(getGvkKey(gvk)));
    const world = { ...toWorld({ ...context, served }, !bundles.has(name)), planned };
    const fault = findPlanFault(world);
    if (fault !== undefined) return fault;
    const root = bundles.get(name);
    const needed = new Set(selectNeeded(world, root ? [root] : planned));
    const unneeded = planned.find((bundle) => !needed.has(bundle));
    if (unneeded) return `bundle ${goQuote(unneeded.name)} is no longer needed`;
    plans.set({ ...plan, bundles });
    return undefined;
  }

  /**
   * Chooses the best candidate whose dependencies are installed, or can be, and makes the plan to install them.
   * @throws RetryableError if a new extension has no free name
   */
  async plan(choice: ChoiceRequest): Promise<PlannedResolution> {
    const { lock } = this.#options;
    const { signal } = choice;
    const propose = (): Promise<PlanProposal> => this.#propose({ ...choice, counter: new StepCounter() });
    // A hard search must not keep the others from making their plans.
    for (let tries = 0; tries < MAX_UNLOCKED; tries++) {
      const { isCurrent, accept } = await propose();
      const planned = await lock.run(LOCK, signal, () => Promise.resolve(isCurrent() ? accept() : undefined));
      if (planned) return planned;
    }
    return lock.run(LOCK, signal, async () => (await propose()).accept());
  }

  async #propose(choice: ChoiceRequest): Promise<PlanProposal> {
    const { installContext, plans } = this.#options;
    const { filtered, conflicts, extension } = choice;
    const { name } = extension.metadata;
    const installed = await installContext.read(name);
    const reachable = await this.readIndex(choice, installed, [...conflicts.keys()]);
    const listOthers = (): PlanEntry[] =>
      plans
        .listOfOthers(name, (member) => findOffered(member, reachable.index))
        .filter(({ bundle }) => bundle.packageName !== filtered.query.packageName);
    const others = listOthers();
    const isCurrent = (): boolean => toPlanKey(listOthers()) === toPlanKey(others);
    const context = { ...installed, peers: [...installed.peers, ...others.map((entry) => toPeer(entry.extension, entry.bundle))] };
    const needs = new Map<Candidate, NeededBundles>();
    const refusals = new Map<Candidate, DependencyRefusal>();
    let undecided = 0;
    let refused = 0;
    const check = async (candidate: Candidate, result: FilterResult): Promise<string | undefined> => {
      const conflict = conflicts.get(candidate);
      if (!conflict) return undefined;
      if (undecided >= MAX_UNDECIDED || choice.counter.steps > MAX_STEPS_OF_CHOICE) return "skipped: search limit reached";
      // Otherwise two dependencies could provide an API in turns, each to allow an upgrade of the other.
      if (isDependencyExtension(extension) && conflict.dependents.length > 0) return formatDependencyConflict(conflict);
      const hint = await this.findHint(candidate, result, { ...choice, context }, reachable, refused < MAX_SUGGESTED);
      if (hint?.kind !== "offered") refused++;
      if (hint?.kind === "undecided") undecided++;
      if (hint?.kind !== "offered") {
        const refusal = { conflict, hint, unavailable: reachable.unavailable };
        refusals.set(candidate, refusal);
        return formatRefusal(refusal).join("; ");
      }
      const own = toOwnBundle(candidate, result, reachable.index);
      if (!own) throw new Error(`bundle ${candidate.bundle.name} has invalid constraints`);
      const bundles = [own, ...hint.bundles];
      const needed = new Set(
        selectNeeded({ ...toWorld(installed), planned: [...bundles, ...others.map(({ bundle }) => bundle)] }, bundles),
      );
      const count = needed.size - 1;
      if (count > PLAN_MEMBERS_MAX) return `it needs ${count} other bundles, more than a plan can contain (${PLAN_MEMBERS_MAX})`;
      needs.set(candidate, { own, added: hint.bundles, needed });
      return undefined;
    };
    const results: FilterResult[] = [];
    for (const result of filtered.results) results.push(await filterByAsyncCheck(result, filtered.query, check));
    const resolution = chooseBest({ ...filtered, results });
    const best = findBestRejected(resolution, results);
    const rejected = best && (await this.toRejected({ ...choice, context }, reachable, best, refusals.get(best.candidate)));
    const chosen = [...needs].find(([{ bundle }]) => resolution.kind === "resolved" && bundle === resolution.bundle);
    const accept = (): PlannedResolution => {
      if (!chosen) return { resolution, ...(rejected ? { rejected } : {}) };
      const replaces = plans.getDropReason(name);
      const built = this.#build(choice, { chosen, others, installed, index: reachable.index });
      const plan = replaces === undefined ? built : { ...built, replaces };
      plans.set(plan);
      return { resolution, plan, ...(rejected ? { rejected } : {}) };
    };
    return { isCurrent, accept };
  }

  /** Returns a rejected candidate with its refusal, and suggests a catalog that the extension does not select if that would help. */
  async toRejected(
    choice: ChoiceRequest,
    { added }: ReachableIndex,
    { candidate, result, clause }: RejectedCandidate,
    refusal: DependencyRefusal | undefined,
  ): Promise<RejectedPlan> {
    const { indexes } = this.#options;
    const { catalogs, filtered, context, signal } = choice;
    if (!refusal) return { candidate, clauses: [clause] };
    const others =
      refusal.hint?.kind === "none" ? await indexes.findOthers(catalogs, added.missing, filtered.query.packageName, signal) : [];
    for (const other of others) {
      const more = await this.readIndex({ ...choice, catalogs: [...catalogs, other] }, context, [candidate]);
      const hint = await this.findHint(candidate, result, { ...choice, budget: new StepBudget() }, more, false);
      if (hint?.kind !== "offered") continue;
      const remedy = { kind: "selectCatalog" as const, catalog: other.metadata.name, bundles: hint.bundles };
      const helped = { ...refusal, hint: remedy };
      return { candidate, clauses: formatRefusal(helped), refusal: helped };
    }
    return { candidate, clauses: formatRefusal(refusal), refusal };
  }

  #build({ extension }: ChoiceRequest, { chosen: [candidate, { own, added, needed }], others, installed, index }: PlanParts): KnownPlan {
    const extensions = this.#options.extensions.list();
    const root: PlanEntry = { bundle: own, extension: extension.metadata.name, image: candidate.bundle.image, isCreated: false };
    const entries = [
      root,
      ...added.map((bundle): PlanEntry => {
        const known = findByPackage(extensions, bundle.packageName)?.metadata.name;
        const name = known ?? chooseExtensionName(extensions, bundle.packageName);
        return { bundle, extension: name, image: findImage(bundle, index), isCreated: known === undefined };
      }),
      ...others,
    ];
    return buildPlan(
      extension,
      root,
      entries.filter(({ bundle }) => needed.has(bundle)),
      toWorld(installed),
    );
  }

  /**
   * Returns a remedy for a candidate; undefined if only the catalog author can provide one.
   * @param canUpdate whether to search for updates of other extensions
   * @throws as `HintSearch.find`
   */
  async findHint(
    candidate: Candidate,
    result: FilterResult,
    { extension, context, conflicts, budget, counter, signal }: ChoiceRequest,
    reachable: ReachableIndex,
    canUpdate = true,
  ): Promise<ResolutionHint | undefined> {
    if (conflicts.get(candidate)?.faults.length) return undefined;
    const bundle = toOwnBundle(candidate, result, reachable.index);
    const request = { extension: extension.metadata.name, context, reachable, canUpdate, budget, counter, signal };
    return bundle && this.#options.search.find({ ...request, bundle });
  }

  /** Reads the catalogs that may help to install one of the candidates. */
  async readIndex(subject: PlanSubject, context: InstallContext, candidates: readonly Candidate[]): Promise<ReachableIndex> {
    const { constraints, extensions, indexes } = this.#options;
    const { budget, catalogs, extension, filtered, signal } = subject;
    const checked = candidates.map(({ bundle }) => ({ provider: toProvider(bundle), declared: constraints.read(bundle) }));
    const reachable = await indexes.read(
      catalogs,
      { packageName: filtered.query.packageName, candidates: checked, context },
      signal,
      budget,
    );
    const isInstalled = (name: string): boolean => context.peers.some((peer) => peer.extension === name);
    const others = extensions.list().filter(({ metadata: { name } }) => name !== extension.metadata.name && !isInstalled(name));
    const { cluster, support } = filtered.query;
    const index = { ...reachable.index, policyInputs: { cluster, ...(support ? { today: support.today } : {}) } };
    return { ...reachable, index: { ...index, limits: computePackageLimits(others, catalogs, index) } };
  }
}

/** Reports whether an extension selects a catalog that is unavailable. */
function isUnavailable({ filtered }: PlanSubject, catalog: string | undefined): boolean {
  return filtered.catalogs.some((one) => one.name === catalog && one.unavailable !== undefined);
}

/** Returns the error for a plan that cannot be compared with a catalog after a restart. A change of the catalog causes the next reconcile. */
function newPlanUnchecked(catalog: string): WaitingError {
  const text = `waiting until catalog ${goQuote(catalog)} is available, to check the plan`;
  return new WaitingError(Reason.Retrying, text, { isOver: () => Promise.resolve(false) });
}

/** A choice that respects the plans that other extensions had at its start. */
interface PlanProposal {
  /** Returns whether the other extensions still have these plans. */
  readonly isCurrent: () => boolean;
  /** Makes the plan. */
  readonly accept: () => PlannedResolution;
}

/** Returns a key of the bundles of plans. */
function toPlanKey(entries: readonly PlanEntry[]): string {
  return JSON.stringify(
    entries.map(({ extension, image, bundle: { packageName, name, catalog } }) => [extension, packageName, name, catalog, image]),
  );
}

/** The bundles that a candidate needs. */
interface NeededBundles {
  readonly own: SolverBundle;
  /** The bundles to add. */
  readonly added: readonly SolverBundle[];
  /** The bundles of the plan: these, and those of other plans that they need. */
  readonly needed: ReadonlySet<SolverBundle>;
}

/** The parts of a new plan. */
interface PlanParts {
  readonly chosen: readonly [Candidate, NeededBundles];
  readonly others: readonly PlanEntry[];
  readonly installed: InstallContext;
  readonly index: CatalogIndex;
}

function toOwnBundle(
  { bundle }: Candidate,
  { catalog, priority, content }: FilterResult,
  { read }: CatalogIndex,
): SolverBundle | undefined {
  return toSolverBundles(bundle.package, [bundle], { catalog, priority }, { packageOf: () => content, read })[0];
}

function findOffered({ catalog, packageName, bundle }: PlanMember, index: CatalogIndex): SolverBundle | undefined {
  const found = index.catalogs.find((one) => one.catalog === catalog);
  const bundles = found?.index.bundlesOf(packageName).filter(({ name }) => name === bundle.name) ?? [];
  return found && toSolverBundles(packageName, bundles, found, index)[0];
}

function findImage({ catalog = "", packageName, name }: SolverBundle, index: CatalogIndex): string | undefined {
  return index.packageOf(catalog, packageName)?.bundles.find((bundle) => bundle.name === name)?.image;
}

function toPlanBundle({ provider, bundle, declared }: InstalledPeer): PlanBundle {
  return { ...provider, name: bundle, constraints: declared.constraints };
}

/** @param stays whether the installed bundle of the extension itself stays */
function toWorld({ peers, own, served }: InstallContext, stays = false): Omit<PlanWorld, "planned"> {
  const installed = (own && stays ? [...peers, own] : peers).map(toPlanBundle);
  return { installed, replaced: own && !stays ? toPlanBundle(own) : undefined, served: served.map(({ gvk }) => gvk) };
}

function findPlanned(
  { results }: FilteredCatalogs,
  member: PlanMember | undefined,
): { readonly candidate: Candidate; readonly result: FilterResult } | undefined {
  const result = results.find(({ catalog }) => catalog === member?.catalog);
  const candidate = result?.allowed.find(({ bundle }) => bundle.name === member?.bundle.name);
  return result && candidate && { candidate, result };
}

/** Chooses the planned bundle of an extension: all other candidates are rejected. */
function choosePlanned({ extension, filtered }: PlanSubject, plan: KnownPlan): PlannedResolution {
  const { name } = extension.metadata;
  const member = findPlanMember(plan, name);
  const text = `the plan of ClusterExtension ${goQuote(plan.root)} installs bundle ${goQuote(member?.bundle.name ?? "")}`;
  const rejection: Rejection = { text, remedy: "wait until the plan is complete" };
  const kept = findPlanned(filtered, member)?.candidate;
  const rejections = new Map(
    filtered.results.flatMap(({ allowed }) => allowed.flatMap((one) => (one === kept ? [] : [[one, rejection] as const]))),
  );
  const results = filtered.results.map((result) => rejectCandidates(result, rejections));
  return { resolution: chooseBest({ ...filtered, results }), plan };
}
