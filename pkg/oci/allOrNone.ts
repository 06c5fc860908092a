/**
 * Does `work` for each item, begun in their order, at most `limit` at once. When one fails the others are aborted, and none is under way any more when
 * this ends.
 * @throws what a `work` threw first; the signal's reason when it is aborted
 */
export async function allOrNone<T>(
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
