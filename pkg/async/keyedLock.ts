import { untilAborted } from "./concurrency.ts";

/** Runs work one at a time per key, in the order of asking. */
export class KeyedLock {
  readonly #last = new Map<string, Promise<void>>();

  /** Whether work of this key runs or waits. */
  isHeld(key: string): boolean {
    return this.#last.has(key);
  }

  /**
   * Runs `work` when all earlier work of this key has ended, however it ended.
   * @throws what `work` throws; the signal's reason when it is aborted while waiting
   */
  async run<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const mine = Promise.withResolvers<void>();
    const done = Promise.all([before, mine.promise]).then(() => undefined);
    this.#last.set(key, done);
    try {
      if (before) await untilAborted(before, signal);
      signal.throwIfAborted();
      return await work();
    } finally {
      mine.resolve();
      if (this.#last.get(key) === done) this.#last.delete(key);
    }
  }
}
