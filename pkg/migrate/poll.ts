import { setTimeout as sleep } from "node:timers/promises";

const EVERY_MS = 300;

/** Something that was waited for and did not come: not a mistake, and not over. */
export class WaitTimeoutError extends Error {}

/** How long is waited, and what is told meanwhile. */
export interface Waiting {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Said in an error, such as `ClusterExtension "hello" to be installed`. */
  readonly what: string;
}

/**
 * Asks until the answer is there.
 * @param ask undefined, or why it is not there yet.
 * @throws DidNotCome that says what was waited for and the last word about it; what `ask` throws at once.
 */
export async function waitFor<T>({ timeoutMs, signal, what }: Waiting, ask: () => Promise<{ done: T } | { because: string }>): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if ("done" in answer) return answer.done;
    if (performance.now() > deadline)
      throw new WaitTimeoutError(`waited ${Math.round(timeoutMs / 1_000)} s for ${what}: ${answer.because}`);
    await sleep(EVERY_MS, undefined, { signal });
  }
}
