import { compareText } from "../../text/compare.ts";
import type { Explanation, Solution, SolverBundle, SolverProblem } from "../solver/problem.ts";
import { solve } from "../solver/solve.ts";
import type { CatalogIndex } from "./catalogIndex.ts";
import type { InstallContext, InstalledPeer } from "./dependencyCheck.ts";
import { applyInstall, applyUpdate, listHigherBundles, listPeerUpdates, type PeerUpdate } from "./peerUpdates.ts";
import type { ReachabilityLimit, ReachablePackages } from "./reachablePackages.ts";
import { buildProblem } from "./solverProblem.ts";

/**
 * A change that allows installing a bundle whose dependencies are not met. The search solved the problem again with the change applied.
 * `bundles` are to be installed from the catalogs in addition, before the bundle or together with it.
 */
export type Remedy =
  /** Only these bundles are missing. `canPrecede` is false if some of them can only be installed together with the bundle. */
  | { readonly kind: "offered"; readonly bundles: readonly SolverBundle[]; readonly canPrecede: boolean }
  /** Other extensions must change first: at least one step, each possible after the previous ones. */
  | {
      readonly kind: "steps";
      readonly steps: readonly RemedyStep[];
      readonly bundles: readonly SolverBundle[];
      readonly canPrecede: boolean;
    }
  /** Other extensions must be updated together with the bundle, because each requires the other first. */
  | { readonly kind: "deadlock"; readonly updates: readonly PeerUpdate[]; readonly bundles: readonly SolverBundle[] }
  /** A catalog that the extension does not select has the missing bundles. */
  | { readonly kind: "selectCatalog"; readonly catalog: string; readonly bundles: readonly SolverBundle[] };

/** One change before the installation. */
export type RemedyStep =
  | ({ readonly kind: "update" } & PeerUpdate)
  /** Create an extension for the bundle's package. */
  | { readonly kind: "install"; readonly bundle: SolverBundle };

/** The result of a search: a remedy, or why there is none. */
export type ResolutionHint =
  | Remedy
  /** No remedy was found: without changes to other extensions, none exists. */
  | { readonly kind: "none"; readonly explanation: Explanation }
  /** The search did not finish. */
  | { readonly kind: "undecided"; readonly limit: SearchLimit; readonly proven: readonly string[] };

/** The limit that ended a search. */
export type SearchLimit =
  | { readonly kind: "steps"; readonly steps: number }
  | { readonly kind: "reachability"; readonly limit: ReachabilityLimit };

/** The bundles of catalogs, and the packages that may be part of a solution. */
export interface ReachableBundles {
  readonly index: CatalogIndex;
  /** If all installed bundles stay. */
  readonly added: ReachablePackages;
  /** If higher versions may replace installed bundles. */
  readonly moved: ReachablePackages;
}

/** Maximum number of steps of one search: about 30 ms, during which the thread is blocked. Real catalogs need several thousand steps. */
const MAX_STEPS = 300_000;
/** Maximum number of steps of each search after a change to other extensions. */
const MAX_STEPS_OF_STATE = 30_000;
/** Maximum number of changes in a sequence, and of sequences that are tried. */
const MAX_CHANGES = 4;
const MAX_SEQUENCES = 100;
/** Maximum number of installations that are tried to find the order of new bundles. */
const MAX_TRIES = 1_000;

/**
 * Finds a change that would allow installing a bundle in its context: additional bundles of the catalogs or, failing that, updates of other extensions
 * along upgrade edges.
 * @param options without `canUpdate`, updates of other extensions are not searched, which takes most of the time
 */
export function findHint(
  bundle: SolverBundle,
  context: InstallContext,
  reachable: ReachableBundles,
  { canUpdate = true }: { readonly canUpdate?: boolean } = {},
): ResolutionHint {
  const problem = buildProblem(
    { packageName: bundle.packageName, candidates: [bundle] },
    context,
    reachable.added.packages,
    reachable.index,
  );
  const solution = solve(problem, { maxSteps: MAX_STEPS });
  if (solution.kind === "solved") {
    const bundles = listAddedBundles(problem, solution.chosen);
    return { kind: "offered", bundles, canPrecede: canPrecede(bundles, context) };
  }
  const remedy = canUpdate ? new UpdateSearch(bundle, context, reachable).run() : undefined;
  return remedy ?? toFailure(solution, reachable.added.exceeded);
}

function toFailure(solution: Exclude<Solution, { kind: "solved" }>, exceeded: ReachabilityLimit | undefined): ResolutionHint {
  if (solution.kind === "undecided") return { kind: "undecided", limit: { kind: "steps", steps: solution.steps }, proven: solution.proven };
  if (exceeded) return { kind: "undecided", limit: { kind: "reachability", limit: exceeded }, proven: [] };
  return { kind: "none", explanation: solution.explanation };
}

/** Returns the chosen bundles of packages that are neither wanted nor installed, by name of package. */
function listAddedBundles({ units }: SolverProblem, chosen: ReadonlyMap<string, SolverBundle>): SolverBundle[] {
  const offered = new Set(units.filter(({ kind }) => kind === "offered").map(({ packageName }) => packageName));
  return [...chosen.values()]
    .filter(({ packageName }) => offered.has(packageName))
    .sort((a, b) => compareText(a.packageName, b.packageName));
}

/** Reports whether the bundles can be installed one after the other, without the bundle that needs them. False if too many orders must be tried. */
function canPrecede(bundles: readonly SolverBundle[], context: InstallContext, budget = { tries: MAX_TRIES }): boolean {
  return (
    bundles.length === 0 ||
    bundles.some((bundle) => {
      if (--budget.tries < 0) return false;
      const after = applyInstall(context, bundle);
      const others = bundles.filter((other) => other !== bundle);
      return after !== undefined && canPrecede(others, after, budget);
    })
  );
}

/** Other extensions after some changes. */
interface ChangedContext {
  readonly context: InstallContext;
  readonly steps: readonly RemedyStep[];
}

/** Searches updates of other extensions that allow installing a bundle. */
class UpdateSearch {
  readonly #bundle: SolverBundle;
  readonly #context: InstallContext;
  readonly #reachable: ReachableBundles;
  /** The extensions whose update may help. */
  readonly #peers: readonly InstalledPeer[];

  constructor(bundle: SolverBundle, context: InstallContext, reachable: ReachableBundles) {
    this.#bundle = bundle;
    this.#context = context;
    this.#reachable = reachable;
    this.#peers = context.peers.filter(({ provider }) => reachable.moved.packages.has(provider.packageName));
  }

  run(): Remedy | undefined {
    // If no higher versions help, no sequence of updates does.
    const higher = this.#solve(this.#context, (peer) => listHigherBundles(peer, this.#reachable.index));
    if (!higher) return undefined;
    const limited = this.#findSteps(true, higher.added);
    if (limited === "exceeded") return undefined;
    const found = limited ?? this.#findSteps(false, higher.added);
    return found === "exceeded" ? undefined : (found ?? this.#findDeadlock());
  }

  /** Finds the shortest sequence of changes, with the highest versions. */
  #findSteps(isLimited: boolean, installs: readonly SolverBundle[]): Remedy | "exceeded" | undefined {
    const queue: ChangedContext[] = [{ context: this.#context, steps: [] }];
    const seen = new Set([toKey([])]);
    // States are appended while iterating.
    for (const { context, steps } of queue) {
      for (const [step, after] of this.#listSteps(context, isLimited, installs)) {
        const all = [...steps, step];
        const key = toKey(all);
        if (seen.has(key)) continue;
        if (seen.size > MAX_SEQUENCES) return "exceeded";
        seen.add(key);
        const solved = this.#solve(after);
        if (solved) return { kind: "steps", steps: all, bundles: solved.added, canPrecede: canPrecede(solved.added, after) };
        if (all.length < MAX_CHANGES) queue.push({ context: after, steps: all });
      }
    }
    return undefined;
  }

  /** Yields the changes that are possible in a context, with the context after each. */
  *#listSteps(
    context: InstallContext,
    isLimited: boolean,
    installs: readonly SolverBundle[],
  ): Generator<readonly [RemedyStep, InstallContext]> {
    const known = new Set(this.#peers.map(({ extension }) => extension));
    for (const peer of context.peers) {
      if (!known.has(peer.extension)) continue;
      for (const update of listPeerUpdates(peer, this.#reachable.index, isLimited)) {
        const after = applyUpdate(context, update);
        if (after) yield [{ kind: "update", ...update }, after];
      }
    }
    for (const bundle of installs) {
      if (context.peers.some(({ provider }) => provider.packageName === bundle.packageName)) continue;
      const after = applyInstall(context, bundle);
      if (after) yield [{ kind: "install", bundle }, after];
    }
  }

  #findDeadlock(): Remedy | undefined {
    const updates = this.#peers.map((peer) => ({ peer, list: listPeerUpdates(peer, this.#reachable.index, true) }));
    const solved = this.#solve(this.#context, (peer) => updates.find((one) => one.peer === peer)?.list.map(({ bundle }) => bundle) ?? []);
    const chosen = updates.flatMap(({ list }) => list.filter(({ bundle }) => solved?.chosen.get(bundle.packageName) === bundle));
    return solved && chosen.length > 0 ? { kind: "deadlock", updates: chosen, bundles: solved.added } : undefined;
  }

  /** Solves the problem in a context, in which the bundles of `moves` may replace the installed ones. */
  #solve(
    context: InstallContext,
    moves: (peer: InstalledPeer) => readonly SolverBundle[] = () => [],
  ): { readonly chosen: ReadonlyMap<string, SolverBundle>; readonly added: readonly SolverBundle[] } | undefined {
    const { index, moved } = this.#reachable;
    const byPackage = new Map(this.#peers.map((peer) => [peer.provider.packageName, moves(peer)]));
    const desired = { packageName: this.#bundle.packageName, candidates: [this.#bundle] };
    const problem = buildProblem(desired, context, moved.packages, index, byPackage);
    const solution = solve(problem, { maxSteps: context === this.#context ? MAX_STEPS : MAX_STEPS_OF_STATE });
    return solution.kind === "solved" ? { chosen: solution.chosen, added: listAddedBundles(problem, solution.chosen) } : undefined;
  }
}

/** Returns a key of the bundles that are installed after the steps. Catalogs may have different bundles of the same name. */
function toKey(steps: readonly RemedyStep[]): string {
  const last = new Map(
    steps.map((step) => {
      const { packageName, name, catalog = "" } = step.bundle;
      return [step.kind === "update" ? step.extension : packageName, `${name} ${catalog}`] as const;
    }),
  );
  return JSON.stringify([...last].sort(([a], [b]) => compareText(a, b)));
}
