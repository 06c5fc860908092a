/** Receives the steps of an evaluation before they are done, and may throw to end it. */
export interface StepMeter {
  spend(steps: number): void;
}

/**
 * Counts the steps of each evaluation, and ends an evaluation that exceeds the limit. A step is about the cost of visiting one node of a rule: 0.05 to
 * 0.5 microseconds.
 */
export class Meter implements StepMeter {
  readonly #most: number;
  readonly #end = new Error("the rule exceeds its step limit");
  #spent = 0;

  /** @param most maximum number of steps of one evaluation */
  constructor(most: number) {
    this.#most = most;
  }

  /** Steps since the last `reset`. Exceeds the limit by one when the steps have run out. */
  get spent(): number {
    return this.#spent;
  }

  /** Remaining steps. */
  get left(): number {
    return Math.max(0, this.#most - this.#spent);
  }

  reset(): void {
    this.#spent = 0;
  }

  /**
   * Charges steps. Call it before doing the work.
   * @throws Error if the steps have run out
   */
  spend(steps: number): void {
    this.#spent += steps;
    if (this.#spent <= this.#most) return;
    this.#spent = this.#most + 1;
    throw this.#end;
  }
}
