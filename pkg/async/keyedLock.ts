import { rejectOnAbort } from "./concurrency.ts";

/** Runs tasks one at a time per key, in order of arrival. */
export class KeyedLock {
  readonly #last = new Map<string, Promise<void>>();

  /** Returns whether a task with this key is running or waiting. */
  isHeld(key: string): boolean {
    return this.#last.has(key);
  }

  /**
   * Runs `work` after all earlier tasks of this key have succeeded or failed.
   * @throws the error of `work`; the signal's reason if it aborts before `work` starts
   */
  async run<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const mine = Promise.withResolvers<void>();
    const done = Promise.all([before, mine.promise]).then(() => undefined);
    this.#last.set(key, done);
    const release = (): void => {
      if (this.#last.get(key) === done) this.#last.delete(key);
    };
    let isRunning = false;
    try {
      if (before) await rejectOnAbort(before, signal);
      isRunning = true;
      signal.throwIfAborted();
      return await work();
    } finally {
      mine.resolve();
      // An aborted task leaves before the tasks before it have ended.
      if (isRunning) release();
      else void done.then(release);
    }
  }
}
