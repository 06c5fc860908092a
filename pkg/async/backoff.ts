import type { Clock } from "./clock.ts";

/**
 * Computes increasing delays between attempts: base · 2ⁿ up to a maximum, minus up to half at
 * random, so that clients do not retry simultaneously.
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

/** Limits repeated log messages: a repeated failure is reported the first time and then periodically. */
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
  get hasReported(): boolean {
    return this.#reported !== undefined;
  }

  /**
   * Decides whether to report `what` now.
   * @returns the number of messages suppressed since the last report; undefined to suppress this
   * one too.
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

  /** Call after a success, so that the next failure is reported. */
  forget(): void {
    this.#reported = undefined;
    this.#kept = 0;
  }
}
