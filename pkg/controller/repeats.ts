import type { Clock } from "../async/clock.ts";

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
