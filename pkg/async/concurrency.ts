import { setImmediate as nextTurn } from "node:timers/promises";

/**
 * Returns the results of `work` for all items, in item order. Starts the items in the same order,
 * at most `limit` at once.
 * @throws the first error of `work`; starts no other item then, and tasks in progress continue in
 * the background.
 */
export async function mapInParallel<T, R>(items: readonly T[], limit: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const left = items.entries();
  let hasFailed = false;
  const worker = async (): Promise<void> => {
    for (const [at, item] of left) {
      if (hasFailed) return;
      try {
        results[at] = await work(item);
      } catch (err) {
        hasFailed = true;
        throw err;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  return results;
}

/**
 * Runs `work` for all items, started in item order, at most `limit` at once. When an item fails,
 * aborts the work on the other items and waits until all work has ended.
 * @throws the first error of `work`; the signal's reason when it aborts
 */
export async function forEachAbortOnError<T>(
  items: Iterable<T>,
  limit: number,
  signal: AbortSignal,
  work: (item: T, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const left = items[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (let next = left.next(); next.done !== true; next = left.next()) {
      either.throwIfAborted();
      await work(next.value, either);
    }
  };
  const workers = Array.from({ length: limit }, () =>
    worker().catch((err: unknown) => {
      if (!failed.signal.aborted) failed.abort(err);
    }),
  );
  await Promise.all(workers);
  signal.throwIfAborted();
  if (failed.signal.aborted) throw failed.signal.reason;
}

/**
 * Returns the result of `work`, or rejects with the signal's reason when it aborts, without waiting
 * for `work`.
 */
export async function rejectOnAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const stopped = Promise.withResolvers<never>();
  const stop = (): void => stopped.reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([work, stopped.promise]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** Settles when `signal` aborts. */
export function waitForAbort(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Maximum time of work on the main thread before other work runs. */
const TURN_MS = 10;

/** Divides long work on the main thread into short turns. */
export class Turns {
  #began = performance.now();

  /** Lets other work run if this turn has used up its time. */
  async pause(): Promise<void> {
    if (performance.now() - this.#began < TURN_MS) return;
    await nextTurn();
    this.#began = performance.now();
  }
}
