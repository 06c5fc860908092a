import { setImmediate as nextTurn } from "node:timers/promises";

/**
 * What `work` gives for each item, in the order of the items. They are begun in that order too, at most `limit` at once.
 * @throws what a `work` throws first; what is under way then goes on unseen.
 */
export async function mapInParallel<T, R>(items: readonly T[], limit: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const left = items.entries();
  const worker = async (): Promise<void> => {
    for (const [at, item] of left) results[at] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  return results;
}

/**
 * Does `work` for each item, begun in their order, at most `limit` at once. When one fails the others are aborted, and none is under way any more when
 * this ends.
 * @throws what a `work` threw first; the signal's reason when it is aborted
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

/** `work`, or the signal's reason as soon as it aborts; what is on its way then is not waited for. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
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

/** Work of a main thread goes on for so long before other work gets its turn. */
const TURN_MS = 10;

/** Divides long work of a main thread into short turns. */
export class Turns {
  #began = performance.now();

  /** Lets other work run if this turn has taken long enough. */
  async pause(): Promise<void> {
    if (performance.now() - this.#began < TURN_MS) return;
    await nextTurn();
    this.#began = performance.now();
  }
}
