/** Registries allow a client some more at a time. */
const AT_A_TIME = 4;

/**
 * What `work` makes of each item, four at a time, in the order of the items. Once one fails no other is begun, and those that run are waited for.
 * @throws the error of the first item in that order that failed.
 */
export async function sideBySide<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const errors = new Map<number, unknown>();
  const open = items.entries();
  const worker = async (): Promise<void> => {
    for (const [i, item] of open) {
      try {
        results[i] = await work(item);
      } catch (err) {
        errors.set(i, err);
      }
      if (errors.size > 0) return;
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
  const [first] = [...errors].sort(([a], [b]) => a - b);
  if (first !== undefined) throw first[1];
  return results;
}
