import type { Clock } from "../../pkg/async/clock.ts";

/** A clock that only `advance` moves; timers fire in order of time, then of creation. */
export class FakeClock implements Clock {
  #now = 0;
  #timers: { at: number; fn: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  after(ms: number, fn: () => void): () => void {
    const timer = { at: this.#now + ms, fn };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Timers that have not fired. */
  get pending(): number {
    return this.#timers.length;
  }

  /** Moves the time forward by `ms` and fires the timers that are due. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const due = this.#timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (!due) break;
      this.#timers = this.#timers.filter((timer) => timer !== due);
      this.#now = due.at;
      due.fn();
    }
    this.#now = end;
  }
}
