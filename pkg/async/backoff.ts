import type { Clock } from "./clock.ts";

/**
 * Computes increasing delays between attempts: base · 2ⁿ up to a maximum, reduced at random by up
 * to half, so that clients spread.
 */
export class Backoff {
  readonly #baseMs: number;
  readonly #maxMs: number;
  readonly #random: () => number;
  #attempts = 0;

  /** @param random returns numbers from 0 to 1. */
  constructor(baseMs: number, maxMs: number, random: () => number = Math.random) {
    this.#baseMs = baseMs;
    this.#maxMs = maxMs;
    this.#random = random;
  }

  /** Number of delays since the last `reset`. */
  get attempts(): number {
    return this.#attempts;
  }

  /** Returns the next delay in milliseconds. */
  next(): number {
    const full = Math.min(this.#baseMs * 2 ** this.#attempts, this.#maxMs);
    this.#attempts++;
    return Math.round(full * (0.5 + this.#random() / 2));
  }

  /** Restarts after a success. */
  reset(): void {
    this.#attempts = 0;
  }
}

/** Limits repeated log messages: a repeated failure is reported at its start and then periodically. */
export class Repeats {
  readonly #clock: Pick<Clock, "now">;
  readonly #quietMs: number;
  #reported: { what: string; at: number } | undefined;
  #kept = 0;

  /** @param quietMs how long the same message is suppressed. */
  constructor(clock: Pick<Clock, "now">, quietMs: number) {
    this.#clock = clock;
    this.#quietMs = quietMs;
  }

  /** Whether a message was reported since the last `forget`. */
  get isTold(): boolean {
    return this.#reported !== undefined;
  }

  /**
   * Returns whether to report `what` now.
   * @returns the number of messages suppressed before; undefined if this one is suppressed too.
   */
  report(what: string): number | undefined {
    const now = this.#clock.now();
    if (this.#reported?.what === what && now - this.#reported.at < this.#quietMs) {
      this.#kept++;
      return undefined;
    }
    const kept = this.#kept;
    this.#reported = { what, at: now };
    this.#kept = 0;
    return kept;
  }

  /** Call it after a success: the next failure is reported. */
  forget(): void {
    this.#reported = undefined;
    this.#kept = 0;
  }
}
