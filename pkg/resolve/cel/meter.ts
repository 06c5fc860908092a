/**
 * Counts the steps of one evaluation after another and ends what takes more than it may. A step is about what it takes to look at one node
 * of a rule, some tenths of a microsecond to one.
 */
export class Meter {
  readonly #most: number;
  readonly #end = new Error("it takes more than it may");
  #spent = 0;
  /** Steps that evaluations may take together from now on. */
  #allowance = Number.POSITIVE_INFINITY;
  #wasRefused = false;

  /** @param most steps of one evaluation. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Steps since the last `reset`; one more than there may be once they have run out. */
  get spent(): number {
    return this.#spent;
  }

  /** Steps that are left. */
  get left(): number {
    return Math.max(0, this.#most - this.#spent);
  }

  get exhausted(): boolean {
    return this.#spent > this.#most;
  }

  /** True. @throws Error when the steps have run out. */
  get alive(): true {
    if (this.exhausted) throw this.#end;
    return true;
  }

  /** Whether evaluations have been refused since the last grant. */
  get wasRefused(): boolean {
    return this.#wasRefused;
  }

  /** How many steps all evaluations may take together from now on; the last of them may take its own on top. */
  grant(steps: number): void {
    this.#allowance = steps;
    this.#wasRefused = false;
  }

  /** Whether there may be another evaluation. */
  admits(): boolean {
    if (this.#allowance <= 0) this.#wasRefused = true;
    return this.#allowance > 0;
  }

  /** After an evaluation. */
  settle(): void {
    this.#allowance -= this.#spent;
  }

  reset(): void {
    this.#spent = 0;
  }

  /**
   * To be called before the work is done.
   * @throws Error when there is no more to spend, now and ever until `reset`.
   */
  spend(steps: number): void {
    this.#spent = Math.min(this.#spent + steps, this.#most + 1);
    if (this.exhausted) throw this.#end;
  }
}
