/** A clock for queues and backoffs; tests use their own. */
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
 * A signal that aborts with another one or after a time, and releases its resources when disposed.
 * `AbortSignal.any` with `AbortSignal.timeout` stays in memory until the time has passed, even if
 * the work ended early: thousands of them in a program with frequent requests and long timeouts.
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
      ms,
    );
    this.#timer.unref();
    if (parent.aborted) this.#follow();
    else parent.addEventListener("abort", this.#follow, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether it aborted because the time has passed, not with the other signal. */
  get isOver(): boolean {
    return this.signal.aborted && !this.#parent.aborted;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#parent.removeEventListener("abort", this.#follow);
  }
}
