import { type Clock, Deadline, sleep, systemClock } from "../../async/clock.ts";
import { type ReconcileErrorOptions, RetryableError } from "../../errors/errors.ts";

/** Asks with one request whether there is an end to what is waited for, or a change in it; what it throws counts as one. */
export type IsOver = (signal: AbortSignal) => Promise<boolean>;

/** Over as soon as one of the two is. */
export function either(one: IsOver | undefined, other: IsOver): IsOver {
  return one ? async (signal) => (await one(signal)) || other(signal) : other;
}

/**
 * Somebody has to do something on the cluster before a new try can succeed: grant rights, create a ServiceAccount, serve a kind.
 * Instead of whole passes that fail, `isOver` is asked until it is.
 */
export class WaitingError extends RetryableError {
  readonly isOver: IsOver;
  /** Longest time between two questions, in milliseconds, where it is to be shorter than for other things that are waited for. */
  readonly everyMs: number | undefined;

  constructor(
    reason: string,
    message: string,
    { isOver, everyMs, ...options }: ReconcileErrorOptions & { isOver: IsOver; everyMs?: number },
  ) {
    super(reason, message, options);
    this.isOver = isOver;
    this.everyMs = everyMs;
  }
}

/** Rights, quotas or policies of the cluster stand against what is to be applied, and nothing of it has been written. */
export class DeniedError extends WaitingError {
  /** What the API server says, or would say. */
  readonly said: string;

  constructor(said: string, options: ErrorOptions & { isOver: IsOver }) {
    super("Retrying", said, options);
    this.said = said;
  }
}

/** The first WaitingError in the cause chain, if any. */
export function waitingIn(err: unknown): WaitingError | undefined {
  for (let e = err; e instanceof Error; e = e.cause) if (e instanceof WaitingError) return e;
  return undefined;
}

/** How often is asked, and who is told. */
export interface ConditionPollerOptions {
  /** Longest time between two questions of one extension, in milliseconds. */
  intervalMs: number;
  /** Called once when what an extension waits for has come, or may have. */
  onOver: (extension: string) => void;
  clock?: Clock;
}

/** The first question comes after so long, each next one after twice the time, up to the interval. */
const FIRST_POLL_MS = 1_000;
const POLL_TIMEOUT_MS = 30_000;
/** Of all extensions together, at most one question in so many milliseconds is asked for those that are looked at more often than others. */
const POLL_SPREAD_MS = 50;

/** Looks for what extensions wait for, one request each time. */
export class ConditionPoller {
  readonly #intervalMs: number;
  readonly #onOver: (extension: string) => void;
  readonly #clock: Clock;
  readonly #waiting = new Map<string, AbortController>();

  constructor({ intervalMs, onOver, clock = systemClock }: ConditionPollerOptions) {
    this.#intervalMs = intervalMs;
    this.#onOver = onOver;
    this.#clock = clock;
  }

  /** How many extensions wait. */
  get size(): number {
    return this.#waiting.size;
  }

  /**
   * Asks `isOver` from now on, in place of what the extension waited for before.
   * @param everyMs longest time between two questions while few extensions wait; never longer than the interval.
   */
  begin(extension: string, isOver: IsOver, everyMs?: number): void {
    this.end(extension);
    const stopping = new AbortController();
    this.#waiting.set(extension, stopping);
    void this.#ask(extension, isOver, everyMs, stopping.signal);
  }

  /** Asks no more for an extension. */
  end(extension: string): void {
    this.#waiting.get(extension)?.abort();
    this.#waiting.delete(extension);
  }

  /** Asks no more at all. */
  endAll(): void {
    for (const extension of this.#waiting.keys()) this.end(extension);
  }

  async #isOver(isOver: IsOver, stopped: AbortSignal): Promise<boolean> {
    using deadline = new Deadline(stopped, POLL_TIMEOUT_MS);
    return await isOver(deadline.signal);
  }

  async #ask(extension: string, isOver: IsOver, everyMs: number | undefined, stopped: AbortSignal): Promise<void> {
    const longestMs = (): number =>
      everyMs === undefined ? this.#intervalMs : Math.min(this.#intervalMs, Math.max(everyMs, this.size * POLL_SPREAD_MS));
    for (let waitMs = Math.min(FIRST_POLL_MS, longestMs()); ; waitMs = Math.min(waitMs * 2, longestMs())) {
      await sleep(this.#clock, waitMs, stopped);
      if (stopped.aborted) return;
      // A question that fails is left to the pass, which can say what is wrong.
      const over = await this.#isOver(isOver, stopped).catch(() => true);
      if (stopped.aborted) return;
      if (!over) continue;
      this.end(extension);
      this.#onOver(extension);
      return;
    }
  }
}
