import { createHash } from "node:crypto";

/** Copies a text, because a substring of a parsed document would keep the whole document in memory. */
export function copyText(text: string): string {
  return Buffer.from(text).toString();
}

/** Maximum length of a name in characters. Real names have a few dozen. */
const MAX_LENGTH = 1_024;
const SHOWN = 200;

/**
 * Interns names: returns one copy for equal names, which shares no memory with the documents. Replaces names that are too long with a prefix and a
 * digest.
 */
export class NameTable {
  readonly #names = new Map<string, string>();

  keep(name: string): string {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    const copy = copyText(name.length > MAX_LENGTH ? shortened(name) : name);
    this.#names.set(copy, copy);
    return copy;
  }
}

function shortened(name: string): string {
  return `${name.slice(0, SHOWN)}… (${name.length} characters, SHA-256 ${createHash("sha256").update(name).digest("hex")})`;
}

/** Distinct values in order of insertion. Equal values are stored once and share no memory with their source. */
export class Pool<T> {
  readonly #indexes = new Map<string, number>();
  readonly #values: T[] = [];

  /** Adds a value and returns its index, or the index of an equal value. @param value plain data that JSON can represent. */
  add(value: T): number {
    const key = JSON.stringify(value);
    const known = this.#indexes.get(key);
    if (known !== undefined) return known;
    this.#indexes.set(key, this.#values.length);
    return this.#values.push(JSON.parse(key) as T) - 1;
  }

  /** Returns a value. @throws RangeError for an index that `add` did not return. */
  at(index: number): T {
    if (index < 0 || index >= this.#values.length) throw new RangeError(`the pool has no value ${index}`);
    return this.#values[index] as T;
  }

  get values(): readonly T[] {
    return this.#values;
  }
}
