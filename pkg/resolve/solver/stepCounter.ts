import { OutOfSteps } from "./search.ts";

/**
 * Counts the steps of several searches together. With a limit, a search that is not complete within the limit throws instead of returning a partial
 * result. Steps do not depend on the machine, so that a search completes within a limit on every machine or on none, with the same result as with any
 * higher limit.
 */
export class StepCounter {
  readonly #limit: number;
  #steps = 0;

  constructor(limit = Number.POSITIVE_INFINITY) {
    this.#limit = limit;
  }

  /** Steps so far. */
  get steps(): number {
    return this.#steps;
  }

  /** Steps until the limit; infinite if there is none. */
  get left(): number {
    return this.#limit - this.#steps;
  }

  get isLimited(): boolean {
    return Number.isFinite(this.#limit);
  }

  /** @throws OutOfSteps */
  spend(steps: number): void {
    this.#steps += steps;
    if (this.left < 0) throw new OutOfSteps(this.#steps);
  }
}
