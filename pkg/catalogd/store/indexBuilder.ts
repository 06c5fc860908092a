import { ownText } from "../../fbc/intern.ts";
import { HASH_BYTES, type IndexColumns } from "./contentIndex.ts";

/** What is known of a line when it has been written. */
export interface WrittenLine {
  /** Its size, newline included. */
  bytes: number;
  /** Of the line with its newline. */
  sha256: Buffer;
  /** Of the whole file up to the end of the line. */
  crc32: number;
}

const FIRST_LINES = 1_024;

/** Collects the lines of a catalog file in order; holds some 36 bytes a line and every text once. */
export class IndexBuilder {
  readonly #ids = new Map<string, number>([["", 0]]);
  readonly #lengths = new Column();
  readonly #schemas = new Column();
  readonly #packages = new Column();
  readonly #names = new Column();
  readonly #checksums = new Column();
  #hashes = new Uint8Array(FIRST_LINES * HASH_BYTES);

  add(meta: { schema: string; package: string; name: string }, line: WrittenLine): void {
    const at = this.lines * HASH_BYTES;
    if (at === this.#hashes.length) {
      const more = new Uint8Array(at * 2);
      more.set(this.#hashes);
      this.#hashes = more;
    }
    this.#hashes.set(line.sha256.subarray(0, HASH_BYTES), at);
    this.#schemas.push(this.#id(meta.schema));
    this.#packages.push(this.#id(meta.package));
    this.#names.push(this.#id(meta.name));
    this.#checksums.push(line.crc32);
    this.#lengths.push(line.bytes);
  }

  get lines(): number {
    return this.#lengths.length;
  }

  columns(): IndexColumns {
    return {
      strings: [...this.#ids.keys()],
      lengths: this.#lengths.values(),
      schemas: this.#schemas.values(),
      packages: this.#packages.values(),
      names: this.#names.values(),
      hashes: this.#hashes.slice(0, this.lines * HASH_BYTES),
      checksums: this.#checksums.values(),
    };
  }

  /** Text that is none comes back from disk, and out of queries, as U+FFFD. */
  #id(raw: string): number {
    const text = raw.isWellFormed() ? raw : raw.toWellFormed();
    const known = this.#ids.get(text);
    if (known !== undefined) return known;
    const id = this.#ids.size;
    this.#ids.set(ownText(text), id);
    return id;
  }
}

/** Numbers below 2 ** 32, one after another. */
class Column {
  #values = new Uint32Array(FIRST_LINES);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    if (this.#length === this.#values.length) {
      const more = new Uint32Array(this.#length * 2);
      more.set(this.#values);
      this.#values = more;
    }
    this.#values[this.#length++] = value;
  }

  values(): Uint32Array<ArrayBuffer> {
    return this.#values.slice(0, this.#length);
  }
}
