import type { Clock } from "../async/clock.ts";

/**
 * One alarm a key: of several times that are asked for, the earliest holds until it rings, and the later ones are given up: who is rung asks
 * again for what is not due yet. A delay of a work queue for another purpose takes the place of none.
 */
export class Alarms {
  readonly #clock: Clock;
  readonly #ring: (key: string) => void;
  readonly #set = new Map<string, { at: number; cancel: () => void }>();

  constructor(clock: Clock, ring: (key: string) => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** Rings for `key` after so many milliseconds, or sooner where that was asked for before. */
  set(key: string, inMs: number): void {
    const at = this.#clock.now() + inMs;
    const before = this.#set.get(key);
    if (before && before.at <= at) return;
    before?.cancel();
    const cancel = this.#clock.after(inMs, () => {
      this.#set.delete(key);
      this.#ring(key);
    });
    this.#set.set(key, { at, cancel });
  }

  /** Takes back what was asked for, for all keys. */
  clear(): void {
    for (const { cancel } of this.#set.values()) cancel();
    this.#set.clear();
  }
}
