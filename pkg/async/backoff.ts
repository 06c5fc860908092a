import type { Clock } from "./clock.ts";

/** Growing pauses between attempts: base · 2ⁿ up to a maximum, of which between half and all is used, at random, so that clients spread. */
export class Backoff {
  readonly #baseMs: number;
  readonly #maxMs: number;
  readonly #random: () => number;
  #attempts = 0;

  /** @param random gives numbers from 0 to 1. */
  constructor(baseMs: number, maxMs: number, random: () => number = Math.random) {
    this.#baseMs = baseMs;
    this.#maxMs = maxMs;
    this.#random = random;
  }

  /** Pauses given since the last `reset`. */
  get attempts(): number {
    return this.#attempts;
  }

  /** The next pause in milliseconds. */
  next(): number {
    const full = Math.min(this.#baseMs * 2 ** this.#attempts, this.#maxMs);
    this.#attempts++;
    return Math.round(full * (0.5 + this.#random() / 2));
  }

  /** Starts over, after a success. */
  reset(): void {
    this.#attempts = 0;
  }
}

/** What fails over and over is to be told when it begins, and then once in a while: a log is read by people. */
export class Repeats {
  readonly #clock: Pick<Clock, "now">;
  readonly #quietMs: number;
  #told: { what: string; at: number } | undefined;
  #kept = 0;

  /** @param quietMs for how long the same is not told again. */
  constructor(clock: Pick<Clock, "now">, quietMs: number) {
    this.#clock = clock;
    this.#quietMs = quietMs;
  }

  /** Whether something was told since the last `forget`. */
  get isTold(): boolean {
    return this.#told !== undefined;
  }

  /**
   * Whether `what` is to be told now.
   * @returns how often it, or something else, was kept quiet before; undefined when it is to be kept quiet now as well.
   */
  tell(what: string): number | undefined {
    const now = this.#clock.now();
    if (this.#told?.what === what && now - this.#told.at < this.#quietMs) {
      this.#kept++;
      return undefined;
    }
    const kept = this.#kept;
    this.#told = { what, at: now };
    this.#kept = 0;
    return kept;
  }

  /** It works again: the next failure is told. */
  forget(): void {
    this.#told = undefined;
    this.#kept = 0;
  }
}
