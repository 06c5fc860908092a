import { createHash } from "node:crypto";

/** A filter on metas; an absent or empty member matches everything. */
export interface MetaQuery {
  schema?: string;
  package?: string;
  name?: string;
}

/** A part of a file: the bytes from `start` up to, not including, `end`. */
export interface Slice {
  start: number;
  end: number;
}

/** Bytes of one line's hash. */
export const HASH_BYTES = 16;

/** The lines of a catalog file as columns: what can move between threads without being copied. Ids point into `strings`; id 0 is "". */
export interface IndexColumns {
  strings: string[];
  /** Bytes of each line, newline included. */
  lengths: Uint32Array<ArrayBuffer>;
  schemas: Uint32Array<ArrayBuffer>;
  packages: Uint32Array<ArrayBuffer>;
  names: Uint32Array<ArrayBuffer>;
  /** The first 16 bytes of each line's SHA-256, one after another. */
  hashes: Uint8Array<ArrayBuffer>;
}

/** Collects the lines of a catalog file in order. */
export class IndexBuilder {
  readonly #strings = new Map<string, number>([["", 0]]);
  readonly #rows: number[] = [];
  readonly #hashes: Buffer[] = [];

  /** @param line size and SHA-256 of the whole line with its newline. */
  add(meta: { schema: string; package: string; name: string }, line: { bytes: number; sha256: Buffer }): void {
    this.#rows.push(line.bytes, this.#id(meta.schema), this.#id(meta.package), this.#id(meta.name));
    this.#hashes.push(line.sha256.subarray(0, HASH_BYTES));
  }

  get lines(): number {
    return this.#hashes.length;
  }

  columns(): IndexColumns {
    const column = (at: number): Uint32Array<ArrayBuffer> =>
      Uint32Array.from({ length: this.lines }, (_, line) => this.#rows[line * 4 + at] ?? 0);
    const hashes = new Uint8Array(this.lines * HASH_BYTES);
    this.#hashes.forEach((hash, line) => hashes.set(hash, line * HASH_BYTES));
    return { strings: [...this.#strings.keys()], lengths: column(0), schemas: column(1), packages: column(2), names: column(3), hashes };
  }

  #id(text: string): number {
    const known = this.#strings.get(text);
    if (known !== undefined) return known;
    const copy = Buffer.from(text).toString(); // a piece of a parsed document would keep the whole document's text in memory
    const id = this.#strings.size;
    this.#strings.set(copy, id);
    return id;
  }
}

/** Finds the lines of a catalog file by schema, package and name. Immutable. */
export class ContentIndex {
  readonly #columns: IndexColumns;
  readonly #starts: Float64Array;
  readonly #ids: ReadonlyMap<string, number>;
  readonly #byPackage: ReadonlyMap<number, readonly number[]>;
  readonly #byName: ReadonlyMap<number, readonly number[]>;
  /** Tag of the whole content. */
  readonly tag: string;

  constructor(columns: IndexColumns) {
    this.#columns = columns;
    const { lengths, strings, packages, names, hashes } = columns;
    this.#starts = new Float64Array(lengths.length + 1);
    for (let line = 0; line < lengths.length; line++) this.#starts[line + 1] = (this.#starts[line] ?? 0) + (lengths[line] ?? 0);
    this.#ids = new Map(strings.map((text, id) => [text, id]));
    this.#byPackage = linesById(packages);
    this.#byName = linesById(names);
    this.tag = createHash("sha256").update(hashes).digest("base64url").slice(0, 22);
  }

  /** Bytes of the file. */
  get bytes(): number {
    return this.#starts.at(-1) ?? 0;
  }

  get lines(): number {
    return this.#columns.lengths.length;
  }

  /**
   * The lines that match all members of the query, in file order. A line without schema is found by no query; an empty query finds nothing,
   * since it means the whole file.
   */
  find(query: MetaQuery): number[] {
    const schema = this.#idOf(query.schema);
    const packageId = this.#idOf(query.package);
    const name = this.#idOf(query.name);
    if (schema === -1 || packageId === -1 || name === -1) return [];
    const { schemas, packages, names } = this.#columns;
    const matches = (line: number): boolean =>
      schemas[line] !== 0 &&
      (schema === 0 || schemas[line] === schema) &&
      (packageId === 0 || packages[line] === packageId) &&
      (name === 0 || names[line] === name);
    if (name !== 0) return (this.#byName.get(name) ?? []).filter(matches);
    if (packageId !== 0) return (this.#byPackage.get(packageId) ?? []).filter(matches);
    const found: number[] = [];
    if (schema !== 0) for (let line = 0; line < this.lines; line++) if (schemas[line] === schema) found.push(line);
    return found;
  }

  /** The bytes of these lines; neighbours become one slice. */
  slices(lines: readonly number[]): Slice[] {
    const slices: Slice[] = [];
    for (const line of lines) {
      const start = this.#starts[line] ?? 0;
      const end = this.#starts[line + 1] ?? start;
      const last = slices.at(-1);
      if (last?.end === start) last.end = end;
      else slices.push({ start, end });
    }
    return slices;
  }

  /** Tag of these lines; equal exactly when they are, so it does not change with the rest of the catalog. */
  tagOf(lines: readonly number[]): string {
    const hash = createHash("sha256");
    for (const line of lines) hash.update(this.#columns.hashes.subarray(line * HASH_BYTES, (line + 1) * HASH_BYTES));
    return hash.digest("base64url").slice(0, 22);
  }

  /** How many lines each schema has. */
  countsBySchema(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const id of this.#columns.schemas) {
      const schema = this.#columns.strings[id] ?? "";
      counts.set(schema, (counts.get(schema) ?? 0) + 1);
    }
    return counts;
  }

  #idOf(text: string | undefined): number {
    if (text === undefined || text === "") return 0;
    return this.#ids.get(text) ?? -1;
  }
}

function linesById(ids: Uint32Array): Map<number, number[]> {
  const lines = new Map<number, number[]>();
  ids.forEach((id, line) => {
    const list = lines.get(id);
    if (list) list.push(line);
    else lines.set(id, [line]);
  });
  return lines;
}
