import { type Clock, Deadline, sleep, systemClock } from "../../async/clock.ts";
import { type ReconcileErrorOptions, RetryableError } from "../../errors/errors.ts";

/** Checks with one request whether the cause of an error has ended or changed. A failed check counts as a change. */
export type UnblockCheck = (signal: AbortSignal) => Promise<boolean>;

/** Returns a check that is true if at least one of two checks is true. */
export function combineUnblockChecks(one: UnblockCheck | undefined, other: UnblockCheck): UnblockCheck {
  return one ? async (signal) => (await one(signal)) || other(signal) : other;
}

/**
 * Thrown if a change in the cluster is needed before a retry can succeed, such as a permission, a ServiceAccount or a
 * served kind. The controller polls `isOver` instead of repeating failing reconciles.
 */
export class WaitingError extends RetryableError {
  readonly isOver: UnblockCheck;
  /** Maximum polling interval in milliseconds, if shorter than the default. */
  readonly everyMs: number | undefined;

  constructor(
    reason: string,
    message: string,
    { isOver, everyMs, ...options }: ReconcileErrorOptions & { isOver: UnblockCheck; everyMs?: number },
  ) {
    super(reason, message, options);
    this.isOver = isOver;
    this.everyMs = everyMs;
  }
}

/** Thrown if permissions, quotas or admission policies reject the objects, and nothing has been written. */
export class DeniedError extends WaitingError {
  /** The message of the API server, or the message that it would return. */
  readonly apiMessage: string;

  constructor(apiMessage: string, options: ErrorOptions & { isOver: UnblockCheck }) {
    super("Retrying", apiMessage, options);
    this.apiMessage = apiMessage;
  }
}

/** Returns the first WaitingError in the cause chain. */
export function findWaitingError(err: unknown): WaitingError | undefined {
  for (let e = err; e instanceof Error; e = e.cause) if (e instanceof WaitingError) return e;
  return undefined;
}

/** Options of the poller. */
export interface ConditionPollerOptions {
  /** Maximum polling interval for each extension, in milliseconds. */
  intervalMs: number;
  /** Called once when the wait of an extension is over or may be over. */
  onOver: (extension: string) => void;
  clock?: Clock;
}

/** Delay before the first poll, in milliseconds. Doubles with each poll, up to the interval. */
const FIRST_POLL_MS = 1_000;
const POLL_TIMEOUT_MS = 30_000;
/** Minimum average time between polls of all extensions with a shorter interval. */
const POLL_SPREAD_MS = 50;

/** Polls the checks that extensions wait for, one request each. */
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

  /** Number of waiting extensions. */
  get size(): number {
    return this.#waiting.size;
  }

  /**
   * Starts polling `isOver` instead of the extension's previous check.
   * @param everyMs maximum polling interval in milliseconds while few extensions wait; limited by the interval for all
   * extensions.
   */
  begin(extension: string, isOver: UnblockCheck, everyMs?: number): void {
    this.end(extension);
    const stopping = new AbortController();
    this.#waiting.set(extension, stopping);
    void this.#poll(extension, isOver, everyMs, stopping.signal);
  }

  /** Stops polling for an extension. */
  end(extension: string): void {
    this.#waiting.get(extension)?.abort();
    this.#waiting.delete(extension);
  }

  /** Stops all polling. */
  endAll(): void {
    for (const extension of this.#waiting.keys()) this.end(extension);
  }

  async #isOver(isOver: UnblockCheck, stopped: AbortSignal): Promise<boolean> {
    using deadline = new Deadline(stopped, POLL_TIMEOUT_MS);
    return await isOver(deadline.signal);
  }

  async #poll(extension: string, isOver: UnblockCheck, everyMs: number | undefined, stopped: AbortSignal): Promise<void> {
    const longestMs = (): number =>
      everyMs === undefined ? this.#intervalMs : Math.min(this.#intervalMs, Math.max(everyMs, this.size * POLL_SPREAD_MS));
    for (let waitMs = Math.min(FIRST_POLL_MS, longestMs()); ; waitMs = Math.min(waitMs * 2, longestMs())) {
      await sleep(this.#clock, waitMs, stopped);
      if (stopped.aborted) return;
      // After an error, the next reconcile reports the cause.
      const over = await this.#isOver(isOver, stopped).catch(() => true);
      if (stopped.aborted) return;
      if (!over) continue;
      this.end(extension);
      this.#onOver(extension);
      return;
    }
  }
}
