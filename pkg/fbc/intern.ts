import { createHash } from "node:crypto";

/** A copy of `text` that shares no memory: a piece of a parsed document would keep the whole document's text alive. */
export function ownText(text: string): string {
  return Buffer.from(text).toString();
}

/** Real names have some dozen characters. */
const MAX_LENGTH = 1_024;
const SHOWN = 200;

/** Copies of names that share no memory with the documents they came from; equal names are one text. Absurdly long ones are kept by their digest. */
export class NameTable {
  readonly #names = new Map<string, string>();

  keep(name: string): string {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    const copy = ownText(name.length > MAX_LENGTH ? shortened(name) : name);
    this.#names.set(copy, copy);
    return copy;
  }
}

function shortened(name: string): string {
  return `${name.slice(0, SHOWN)}… (${name.length} characters, SHA-256 ${createHash("sha256").update(name).digest("hex")})`;
}

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
