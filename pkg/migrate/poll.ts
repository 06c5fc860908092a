import { setTimeout as sleep } from "node:timers/promises";

const EVERY_MS = 300;

/** Thrown after a timeout. The awaited change can still happen later. */
export class WaitTimeoutError extends Error {}

/** The time limit and the subject of a wait. */
export interface PollOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** The subject for the error, such as `ClusterExtension "hello" to be installed`. */
  readonly what: string;
}

/**
 * Polls until `ask` returns a result.
 * @param ask returns the result, or the reason why it is not available yet
 * @throws WaitTimeoutError with the subject and the last reason; errors of `ask` immediately
 */
export async function waitFor<T>(
  { timeoutMs, signal, what }: PollOptions,
  ask: () => Promise<{ done: T } | { reason: string }>,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if ("done" in answer) return answer.done;
    if (performance.now() > deadline)
      throw new WaitTimeoutError(`timed out after ${Math.round(timeoutMs / 1_000)} s waiting for ${what}: ${answer.reason}`);
    await sleep(EVERY_MS, undefined, { signal });
  }
}
