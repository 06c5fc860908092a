import { setTimeout as sleep } from "node:timers/promises";

/** Timeout and interval of the attempts, in milliseconds. */
export interface EventuallyOptions {
  /** Default 60 s, because a busy machine is not a defect; success returns at once. */
  readonly timeoutMs?: number;
  /** The maximum; the first attempts follow faster. Default 100 ms. */
  readonly intervalMs?: number;
}

const FIRST_INTERVAL_MS = 10;

/**
 * Returns the result of the first call of `look` that does not throw (a failed assertion inside is retried).
 * @throws the last error after the timeout.
 */
export async function eventually<T>(
  look: () => T | Promise<T>,
  { timeoutMs = 60_000, intervalMs = 100 }: EventuallyOptions = {},
): Promise<T> {
  const began = performance.now();
  for (;;) {
    try {
      return await look();
    } catch (err) {
      const elapsedMs = performance.now() - began;
      if (elapsedMs > timeoutMs) {
        if (err instanceof Error) err.message += ` (still failing after ${timeoutMs / 1000} s)`;
        throw err;
      }
      await sleep(Math.min(intervalMs, Math.max(FIRST_INTERVAL_MS, elapsedMs / 4)));
    }
  }
}
