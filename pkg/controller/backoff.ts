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
