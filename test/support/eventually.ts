import { setTimeout as sleep } from "node:timers/promises";

/** How long and how often to look; milliseconds. */
export interface EventuallyOptions {
  /** Default 60 s, since a busy machine is no defect; what holds is seen at once. */
  readonly timeoutMs?: number;
  /** At most; shortly after the beginning it looks more often. Default 100 ms. */
  readonly intervalMs?: number;
}

const FIRST_INTERVAL_MS = 10;

/**
 * What `look` gives the first time it does not throw (an assertion inside it is tried again).
 * @throws the last error once the time is over.
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
        if (err instanceof Error) err.message += ` (still so after ${timeoutMs / 1000} s)`;
        throw err;
      }
      await sleep(Math.min(intervalMs, Math.max(FIRST_INTERVAL_MS, elapsedMs / 4)));
    }
  }
}
