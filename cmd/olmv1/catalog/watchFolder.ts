import { watch } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

/** Editors write a file in several steps, and tools several files. */
const QUIET_MS = 200;

/**
 * Calls `changed` after changes below a folder, when nothing has changed any more for a moment; one call at a time, and once more for what changed meanwhile.
 * Ends when `signal` is aborted and no call is under way.
 * @throws Error where the folder cannot be watched; what `changed` throws.
 */
export async function watchFolder(dir: string, signal: AbortSignal, changed: () => Promise<void>): Promise<void> {
  let changes = 0;
  let answered = Promise.resolve();
  let isAnswering = false;
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const answer = async (): Promise<void> => {
    for (let seen = 0; seen !== changes; ) {
      for (let before = -1; before !== changes; await sleep(QUIET_MS, undefined, { signal: either })) before = changes;
      seen = changes;
      await changed();
    }
  };
  try {
    for await (const _ of watch(dir, { recursive: true, signal: either })) {
      changes += 1;
      if (isAnswering) continue;
      isAnswering = true;
      answered = answer()
        .catch((err: unknown) => failed.abort(err))
        .finally(() => {
          isAnswering = false;
          changes = 0;
        });
    }
  } catch (err) {
    if (!either.aborted) throw err;
  }
  await answered;
  if (failed.signal.aborted && !signal.aborted) throw failed.signal.reason;
}
