import { setImmediate } from "node:timers/promises";
import { Reason } from "../../api/constants.ts";
import type { Clock } from "../../async/clock.ts";
import { FairQueue } from "../../async/fairQueue.ts";
import { type SendRequest, TaskThread, type TaskThreadLimits, ThreadLimitExceeded } from "../../async/taskThread.ts";
import { RetryableError } from "../../errors/errors.ts";
import { type DeclaredRule, StepBudget, StepLimitError } from "../../resolve/constraint/stepBudget.ts";
import type { InstallContext } from "../../resolve/dependencies/dependencyCheck.ts";
import { findHint, type ReachableBundles, type ResolutionHint } from "../../resolve/dependencies/remedySearch.ts";
import {
  buildHint,
  type PackagePart,
  type PlaceReference,
  type PlainBundle,
  type PlainWorld,
  splitPackages,
  toPlainBundle,
  toPlainWorld,
} from "../../resolve/dependencies/searchWorld.ts";
import type { SolverBundle } from "../../resolve/solver/problem.ts";
import { OutOfSteps } from "../../resolve/solver/search.ts";
import { StepCounter } from "../../resolve/solver/stepCounter.ts";
import type { ConstraintCache } from "./constraintCache.ts";

/** A request for a change that would allow installing a bundle. */
export interface HintRequest {
  /** Name of the extension that resolves. */
  readonly extension: string;
  readonly bundle: SolverBundle;
  readonly context: InstallContext;
  readonly reachable: ReachableBundles;
  /** Whether updates of other extensions are searched. */
  readonly canUpdate: boolean;
  /** The budget of the resolution for CEL rules. */
  readonly budget: StepBudget;
  /** Counts the solver's steps of the resolution. */
  readonly counter: StepCounter;
  readonly signal: AbortSignal;
}

/** Finds changes that would allow installing a bundle, see `findHint`. */
export interface HintSearch {
  /**
   * @throws StepLimitError if the CEL rules of the bundles take too many steps; the reason of the signal if it is aborted; RetryableError if the search
   * was cancelled
   */
  find(request: HintRequest): Promise<ResolutionHint>;
}

/** Searches in the calling thread, which is blocked for seconds by a hard problem. For programs with one user. */
export class BlockingHintSearch implements HintSearch {
  readonly #constraints: ConstraintCache;

  constructor(constraints: ConstraintCache) {
    this.#constraints = constraints;
  }

  async find({ bundle, context, reachable, canUpdate, budget, counter }: HintRequest): Promise<ResolutionHint> {
    return this.#constraints.bounded(() => findHint(bundle, context, reachable, { canUpdate, counter }), budget);
  }
}

/** What the thread is asked. It remembers the last world. */
export type HintThreadRequest =
  /** Starts a world, which replaces the last one. */
  | { readonly kind: "world"; readonly id: number; readonly world: PlainWorld }
  | { readonly kind: "packages"; readonly id: number; readonly parts: readonly PackagePart[] }
  | { readonly kind: "find"; readonly id: number; readonly bundle: PlainBundle; readonly canUpdate: boolean };

/** The thread's response. */
export type HintThreadResponse =
  | { readonly kind: "accepted" }
  /** The thread does not have the world. */
  | { readonly kind: "unknown" }
  | { readonly kind: "found"; readonly hint: ResolutionHint<PlaceReference>; readonly steps: number }
  | { readonly kind: "stepLimit"; readonly limit: number; readonly costliest: DeclaredRule }
  | { readonly kind: "failed"; readonly message: string };

/** Limits of a search. */
export interface HintSearchLimits extends TaskThreadLimits {
  /**
   * Maximum number of steps in the main thread: about ten milliseconds, and the same time for an explanation. 95 of 100 searches in public catalogs
   * take less.
   */
  readonly mainSteps: number;
}

const LIMITS: HintSearchLimits = { mainSteps: 20_000, heapMib: 192, deadlineMs: 20_000, idleMs: 3_000 };
/** Maximum number of steps of CEL rules in the main thread, also of rules with a known result: at most 60 milliseconds. */
const MAIN_RULE_STEPS = 200_000;
/** Number of bundles in one message to the thread: at most a few milliseconds to copy. */
const BUNDLES_PER_MESSAGE = 250;

/** A world that was sent to the thread. */
interface SentWorld {
  readonly id: number;
  readonly context: InstallContext;
  readonly reachable: ReachableBundles;
}

/**
 * Decides easy problems in the main thread, and sends hard ones to a worker thread with limited memory and time. Both run the same search: the main
 * thread discards a search that is not complete within its step limit. One search runs in the thread at a time. Searches of extensions that exceeded the
 * limits of the thread run after those of others.
 */
export class HintSearchThread implements HintSearch {
  readonly #constraints: ConstraintCache;
  readonly #limits: HintSearchLimits;
  readonly #thread: TaskThread<HintThreadRequest, HintThreadResponse>;
  readonly #queue = new FairQueue();
  /** Searches in the thread or in the queue. */
  readonly #running = new Set<{ readonly extension: string; readonly stop: AbortController }>();
  #sent: SentWorld | undefined;
  #lastId = 0;

  constructor(constraints: ConstraintCache, clock: Clock, limits: HintSearchLimits = LIMITS) {
    this.#constraints = constraints;
    this.#limits = limits;
    this.#thread = new TaskThread(import.meta.dirname, "hintWorker", limits, clock);
  }

  /** Whether the thread is running. */
  get isRunning(): boolean {
    return this.#thread.isRunning;
  }

  async find(request: HintRequest): Promise<ResolutionHint> {
    // Many easy candidates in a row must not block the thread either.
    await setImmediate();
    request.signal.throwIfAborted();
    return this.#findHere(request) ?? this.#findInTurn(request);
  }

  /** Cancels the searches of an extension in the thread and in the queue, because the extension has changed. */
  cancel(extension: string): void {
    const reason = new RetryableError(
      Reason.Retrying,
      "the search for dependencies was cancelled, because the ClusterExtension has changed",
    );
    for (const search of this.#running) if (search.extension === extension) search.stop.abort(reason);
  }

  /** Ends the thread. A search in progress fails. */
  end(): Promise<void> {
    return this.#thread.end();
  }

  /** @returns undefined if the search is too hard for the main thread */
  #findHere({ bundle, context, reachable, canUpdate, budget: whole, counter: total }: HintRequest): ResolutionHint | undefined {
    const counter = new StepCounter(this.#limits.mainSteps);
    const budget = new StepBudget(MAIN_RULE_STEPS, whole);
    try {
      return this.#constraints.bounded(() => findHint(bundle, context, reachable, { canUpdate, counter }), budget);
    } catch (err) {
      if (err instanceof OutOfSteps || (err instanceof StepLimitError && budget.isSpent)) return undefined;
      throw err;
    } finally {
      total.spend(counter.steps);
    }
  }

  /** Waits until it is the extension's turn, then searches in the thread. */
  async #findInTurn(request: HintRequest): Promise<ResolutionHint> {
    const { extension } = request;
    const search = { extension, stop: new AbortController() };
    this.#running.add(search);
    const signal = AbortSignal.any([request.signal, search.stop.signal]);
    const end = (): void => void this.#thread.end();
    try {
      return await this.#queue.run(
        extension,
        () => {
          signal.addEventListener("abort", end, { once: true });
          return this.#thread.run((ask) => this.#findInThread(request, ask));
        },
        signal,
      );
    } catch (err) {
      signal.throwIfAborted();
      if (!(err instanceof ThreadLimitExceeded)) throw err;
      const { heapMib: mib, deadlineMs } = this.#limits;
      return {
        kind: "undecided",
        limit: err.limit === "time" ? { kind: "time", seconds: deadlineMs / 1_000 } : { kind: "memory", mib },
        proven: [],
      };
    } finally {
      signal.removeEventListener("abort", end);
      this.#running.delete(search);
    }
  }

  async #findInThread(
    { bundle, context, reachable, canUpdate, counter }: HintRequest,
    ask: SendRequest<HintThreadRequest, HintThreadResponse>,
  ): Promise<ResolutionHint> {
    const find = (id: number): Promise<HintThreadResponse> => ask({ kind: "find", id, bundle: toPlainBundle(bundle), canUpdate });
    const sent = this.#sent?.context === context && this.#sent.reachable === reachable ? this.#sent : undefined;
    let response = sent ? await find(sent.id) : undefined;
    if (!response || response.kind === "unknown") {
      const id = ++this.#lastId;
      this.#sent = { id, context, reachable };
      await ask({ kind: "world", id, world: toPlainWorld(context, reachable) });
      for (const parts of splitPackages(context, reachable, BUNDLES_PER_MESSAGE)) await ask({ kind: "packages", id, parts });
      response = await find(id);
    }
    if (response.kind === "stepLimit") throw new StepLimitError(response.limit, response.costliest);
    if (response.kind !== "found")
      throw new Error(response.kind === "failed" ? response.message : "the dependency thread ended unexpectedly");
    counter.spend(response.steps);
    return buildHint(response.hint, reachable.index);
  }
}
