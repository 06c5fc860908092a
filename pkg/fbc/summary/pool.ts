/** Different values in the order in which they came; equal ones are kept once, and share no memory with what they were taken from. */
export class Pool<T> {
  readonly #indexes = new Map<string, number>();
  readonly #values: T[] = [];

  /** The index of a value equal to this one. @param value plain data: its JSON form must tell everything. */
  add(value: T): number {
    const key = JSON.stringify(value);
    const known = this.#indexes.get(key);
    if (known !== undefined) return known;
    this.#indexes.set(key, this.#values.length);
    return this.#values.push(JSON.parse(key) as T) - 1;
  }

  /** @throws RangeError for an index that `add` did not give. */
  at(index: number): T {
    if (index < 0 || index >= this.#values.length) throw new RangeError(`the pool has no value ${index}`);
    return this.#values[index] as T;
  }

  get values(): readonly T[] {
    return this.#values;
  }
}
