import { setTimeout as sleep } from "node:timers/promises";

const EVERY_MS = 300;

/** Thrown after a timeout. The awaited change can still happen later. */
export class WaitTimeoutError extends Error {}

/** The time limit of a wait. With a limit of 0, or a negative one, it asks only once. */
export interface PollLimit {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** The time limit and the subject of a wait. */
export interface PollOptions extends PollLimit {
  /** The subject for the error, such as `ClusterExtension "hello" to be installed`. */
  readonly what: string;
}

/** The result of a wait, or the reason why it is not available yet. */
export type PollAnswer<T, R> = { readonly done: T } | { readonly reason: R };

/**
 * Polls until `ask` returns a result, or until the time limit.
 * @returns the last answer
 * @throws errors of `ask` immediately
 */
export async function poll<T, R>({ timeoutMs, signal }: PollLimit, ask: () => Promise<PollAnswer<T, R>>): Promise<PollAnswer<T, R>> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if ("done" in answer || performance.now() >= deadline) return answer;
    await sleep(EVERY_MS, undefined, { signal });
  }
}

/**
 * Polls until `ask` returns a result.
 * @throws WaitTimeoutError with the subject and the last reason; errors of `ask` immediately
 */
export async function waitFor<T>({ what, ...limit }: PollOptions, ask: () => Promise<PollAnswer<T, string>>): Promise<T> {
  const answer = await poll(limit, ask);
  if ("done" in answer) return answer.done;
  throw new WaitTimeoutError(`timed out after ${Math.round(limit.timeoutMs / 1_000)} s waiting for ${what}: ${answer.reason}`);
}
