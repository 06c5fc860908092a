/** Time as queues and back-offs see it; tests pass their own. */
export interface Clock {
  /** Milliseconds; only differences mean something. */
  now(): number;
  /** Calls `fn` once after `ms`; the returned function prevents it. */
  after(ms: number, fn: () => void): () => void;
}

/** Longest delay Node's timers take. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The machine's clock. Its timers keep no process alive. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after: (ms, fn) => {
    const timer = setTimeout(fn, Math.min(Math.max(ms, 0), MAX_TIMER_MS)).unref();
    return () => clearTimeout(timer);
  },
};

/** Waits; ends early and without an error when `signal` aborts. */
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
