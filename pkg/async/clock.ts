/** A clock for queues and backoffs, which tests can replace. */
export interface Clock {
  /** Milliseconds; only differences are meaningful. */
  now(): number;
  /** Calls `fn` once after `ms`; the returned function cancels it. */
  after(ms: number, fn: () => void): () => void;
}

/** Maximum delay of Node's timers. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The machine's clock. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after: (ms, fn) => {
    const timer = setTimeout(fn, Math.min(Math.max(ms, 0), MAX_TIMER_MS)).unref();
    return () => clearTimeout(timer);
  },
};

/**
 * Returns a signal that aborts after `ms`, at the latest after 24 days. For times that users choose:
 * AbortSignal.timeout aborts at once after longer ones, and throws for fractions.
 */
export function createTimeoutSignal(ms: number): AbortSignal {
  return AbortSignal.timeout(Math.ceil(Math.min(Math.max(ms, 0), MAX_TIMER_MS)));
}

/** Waits for `ms`; returns early without an error when `signal` aborts. */
export function sleep(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const cancel = clock.after(ms, () => {
      signal.removeEventListener("abort", stop);
      resolve();
    });
    const stop = (): void => {
      cancel();
      resolve();
    };
    return signal.addEventListener("abort", stop, { once: true });
  });
}

/**
 * A signal that aborts together with another signal or after a timeout, and releases its resources
 * when disposed. `AbortSignal.any` with `AbortSignal.timeout` would stay in memory until the
 * timeout even if the work ends earlier. A program with frequent requests and long timeouts would
 * hold thousands of them.
 */
export class Deadline implements Disposable {
  readonly #controller = new AbortController();
  readonly #parent: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  readonly #follow = (): void => this.#controller.abort(this.#parent.reason);

  /** @param ms time until it aborts with a TimeoutError. */
  constructor(parent: AbortSignal, ms: number) {
    this.#parent = parent;
    this.#timer = setTimeout(
      () => this.#controller.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError")),
      Math.min(ms, MAX_TIMER_MS),
    );
    this.#timer.unref();
    if (parent.aborted) this.#follow();
    else parent.addEventListener("abort", this.#follow, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether it aborted because of the timeout and not because of the other signal. */
  get isOver(): boolean {
    return this.signal.aborted && !this.#parent.aborted;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#parent.removeEventListener("abort", this.#follow);
  }
}
