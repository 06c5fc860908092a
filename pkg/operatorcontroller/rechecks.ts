import { type Clock, Deadline, sleep, systemClock } from "../async/clock.ts";
import type { IsOver } from "./waiting.ts";

/** How often is asked, and who is told. */
export interface RechecksOptions {
  /** Longest time between two questions of one extension, in milliseconds. */
  intervalMs: number;
  /** Called once when what an extension waits for has come, or may have. */
  onOver: (extension: string) => void;
  clock?: Clock;
}

/** The first question comes after so long, each next one after twice the time, up to the interval. */
const FIRST_MS = 1_000;
const TIMEOUT_MS = 30_000;
/** Of all extensions together, at most one question in so many milliseconds is asked for those that are looked at more often than others. */
const SPREAD_MS = 50;

/** Looks for what extensions wait for, one request each time. */
export class Rechecks {
  readonly #intervalMs: number;
  readonly #onOver: (extension: string) => void;
  readonly #clock: Clock;
  readonly #waiting = new Map<string, AbortController>();

  constructor({ intervalMs, onOver, clock = systemClock }: RechecksOptions) {
    this.#intervalMs = intervalMs;
    this.#onOver = onOver;
    this.#clock = clock;
  }

  /** How many extensions wait. */
  get size(): number {
    return this.#waiting.size;
  }

  /**
   * Asks `isOver` from now on, in place of what the extension waited for before.
   * @param everyMs longest time between two questions while few extensions wait; never longer than the interval.
   */
  begin(extension: string, isOver: IsOver, everyMs?: number): void {
    this.end(extension);
    const stopping = new AbortController();
    this.#waiting.set(extension, stopping);
    void this.#ask(extension, isOver, everyMs, stopping.signal);
  }

  /** Asks no more for an extension. */
  end(extension: string): void {
    this.#waiting.get(extension)?.abort();
    this.#waiting.delete(extension);
  }

  /** Asks no more at all. */
  endAll(): void {
    for (const extension of this.#waiting.keys()) this.end(extension);
  }

  async #isOver(isOver: IsOver, stopped: AbortSignal): Promise<boolean> {
    using deadline = new Deadline(stopped, TIMEOUT_MS);
    return await isOver(deadline.signal);
  }

  async #ask(extension: string, isOver: IsOver, everyMs: number | undefined, stopped: AbortSignal): Promise<void> {
    const longestMs = (): number =>
      everyMs === undefined ? this.#intervalMs : Math.min(this.#intervalMs, Math.max(everyMs, this.size * SPREAD_MS));
    for (let waitMs = Math.min(FIRST_MS, longestMs()); ; waitMs = Math.min(waitMs * 2, longestMs())) {
      await sleep(this.#clock, waitMs, stopped);
      if (stopped.aborted) return;
      // A question that fails is left to the pass, which can say what is wrong.
      const over = await this.#isOver(isOver, stopped).catch(() => true);
      if (stopped.aborted) return;
      if (!over) continue;
      this.end(extension);
      this.#onOver(extension);
      return;
    }
  }
}
