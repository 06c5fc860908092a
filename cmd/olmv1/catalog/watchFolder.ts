import { stat, watch } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

/** Editors write a file in several steps, and tools several files. */
const QUIET_MS = 200;
/** How often it is looked whether another folder lies there. */
const LOOK_MS = 500;

/**
 * Calls `changed` after changes below a folder, when nothing has changed any more for a moment; one call at a time, and once more for what changed meanwhile.
 * A folder that is removed, or moved away, is waited for until there is one at its place again, as tools make it that write a folder anew.
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
  const noted = (): void => {
    changes += 1;
    if (isAnswering) return;
    isAnswering = true;
    answered = answer()
      .catch((err: unknown) => failed.abort(err))
      .finally(() => {
        isAnswering = false;
        changes = 0;
      });
  };
  try {
    for (let folder = await identityOf(dir); ; noted()) folder = await watchOne(dir, folder, either, noted);
  } catch (err) {
    if (!either.aborted) throw err;
  }
  await answered;
  if (failed.signal.aborted && !signal.aborted) throw failed.signal.reason;
}

/** Tells of changes until another folder lies at its place. @returns that one's identity. @throws once `signal` is aborted. */
async function watchOne(dir: string, folder: string | undefined, signal: AbortSignal, noted: () => void): Promise<string> {
  const replaced = new AbortController();
  const other = awaitOther(dir, folder, signal).finally(() => replaced.abort());
  other.catch(() => undefined); // it is awaited below, unless the folder cannot be watched
  try {
    for await (const _ of watch(dir, { recursive: true, signal: replaced.signal })) noted();
  } catch (err) {
    if (!replaced.signal.aborted && (await identityOf(dir)) === folder) throw err;
  }
  return other;
}

/** A watch stays with the folder that it was made for: it hears nothing of one that takes its place. */
async function awaitOther(dir: string, folder: string | undefined, signal: AbortSignal): Promise<string> {
  for (;;) {
    await sleep(LOOK_MS, undefined, { signal });
    const now = await identityOf(dir);
    if (now !== undefined && now !== folder) return now;
  }
}

/** The same for the same folder only; undefined where there is none. A number may be given to a new one, its time of birth is its own. */
async function identityOf(dir: string): Promise<string | undefined> {
  const found = await stat(dir).catch(() => undefined);
  return found && `${found.dev}/${found.ino}/${found.birthtimeMs}`;
}
