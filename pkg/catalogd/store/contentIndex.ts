import { createHash } from "node:crypto";
import { appendCrc32 } from "./crc32.ts";

/** A filter for metas. An absent or empty member matches everything. */
export interface MetaQuery {
  schema?: string | undefined;
  package?: string | undefined;
  name?: string | undefined;
}

/** A range of a file: the bytes from `start` (inclusive) to `end` (exclusive). */
export interface Slice {
  start: number;
  end: number;
}

/** Line numbers in ascending order. */
export type Lines = Uint32Array | readonly number[];

/** Runs of consecutive lines, as pairs of the first line and the line after the last one. */
export type Runs = Uint32Array<ArrayBuffer>;

/** Size of one line's hash in bytes. */
export const HASH_BYTES = 16;

/**
 * The index of a catalog file as columns with a value for each line, which can be transferred
 * between threads. An id is an index in `strings`; id 0 is "".
 */
export interface IndexColumns {
  strings: string[];
  /** Size of each line in bytes, including its newline. */
  lengths: Uint32Array<ArrayBuffer>;
  schemas: Uint32Array<ArrayBuffer>;
  packages: Uint32Array<ArrayBuffer>;
  names: Uint32Array<ArrayBuffer>;
  /** The first 16 bytes of each line's SHA-256, concatenated. */
  hashes: Uint8Array<ArrayBuffer>;
  /** CRC-32 of the file up to the end of each line. */
  checksums: Uint32Array<ArrayBuffer>;
}

/** Finds the lines of a catalog file by schema, package and name. Immutable. */
export class ContentIndex {
  readonly columns: Readonly<IndexColumns>;
  readonly #starts: Float64Array;
  readonly #ids: ReadonlyMap<string, number>;
  readonly #byPackage: LinesById;
  readonly #byName: LinesById;
  /** Entity tag of the whole content. */
  readonly tag: string;

  constructor(columns: Readonly<IndexColumns>) {
    this.columns = columns;
    const { lengths, strings, packages, names, hashes } = columns;
    this.#starts = computeStarts(lengths);
    this.#ids = new Map(strings.map((text, id) => [text, id]));
    this.#byPackage = new LinesById(packages, strings.length);
    this.#byName = new LinesById(names, strings.length);
    this.tag = formatTag(createHash("sha256").update(hashes).digest());
  }

  /** Bytes of the file. */
  get bytes(): number {
    return this.#starts.at(-1) ?? 0;
  }

  get lines(): number {
    return this.columns.lengths.length;
  }

  /** CRC-32 of the file. */
  get crc32(): number {
    return this.columns.checksums.at(-1) ?? 0;
  }

  /**
   * Returns the lines that match all members of the query, in file order. Lines without a schema
   * never match. An empty query returns no lines: use the whole file instead.
   */
  find(query: MetaQuery): Uint32Array {
    const schema = this.#idOf(query.schema);
    const packageId = this.#idOf(query.package);
    const name = this.#idOf(query.name);
    if (schema === -1 || packageId === -1 || name === -1) return new Uint32Array();
    const { schemas, packages, names } = this.columns;
    const matches = (line: number): boolean =>
      schemas[line] !== 0 &&
      (schema === 0 || schemas[line] === schema) &&
      (packageId === 0 || packages[line] === packageId) &&
      (name === 0 || names[line] === name);
    if (name !== 0) return this.#byName.of(name).filter(matches);
    if (packageId !== 0) return this.#byPackage.of(packageId).filter(matches);
    return schema === 0 ? new Uint32Array() : linesWith(schemas, schema);
  }

  /** Groups consecutive lines into runs. */
  runs(lines: Lines): Runs {
    const runs = new Uint32Array(lines.length * 2);
    let used = 0;
    for (const line of lines) {
      if (used > 0 && runs[used - 1] === line) runs[used - 1] = line + 1;
      else {
        runs[used++] = line;
        runs[used++] = line + 1;
      }
    }
    return runs.slice(0, used);
  }

  /** Returns the bytes of these lines; consecutive lines become one slice. */
  slices(lines: Lines): Slice[] {
    return [...this.slicesOf(this.runs(lines))];
  }

  /** Returns the bytes of these runs, one slice per run. Computes them one at a time, because there may be a million. */
  slicesOf(runs: Runs): Iterable<Slice> {
    return iterateSlices(runs, this.#starts);
  }

  /** Returns the total size of these runs in bytes. */
  bytesOf(runs: Runs): number {
    return measureRuns(runs, this.#starts);
  }

  /** Returns the CRC-32 of the concatenated runs without reading them. */
  crc32Of(runs: Runs): number {
    const { checksums } = this.columns;
    let crc = 0;
    for (let i = 0; i < runs.length; i += 2) {
      const [from = 0, to = 0] = [runs[i], runs[i + 1]];
      crc = appendCrc32(crc, { before: checksums[from - 1] ?? 0, after: checksums[to - 1] ?? 0, bytes: this.#between(from, to) });
    }
    return crc;
  }

  /**
   * Returns the entity tag of these lines. Tags are equal if and only if the lines are equal,
   * independent of the rest of the catalog.
   */
  tagOf(lines: Lines): string {
    const hash = createHash("sha256");
    const runs = this.runs(lines);
    for (let i = 0; i < runs.length; i += 2)
      hash.update(this.columns.hashes.subarray((runs[i] ?? 0) * HASH_BYTES, (runs[i + 1] ?? 0) * HASH_BYTES));
    return formatTag(hash.digest());
  }

  /** Counts the lines of each schema. */
  countsBySchema(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const id of this.columns.schemas) {
      const schema = this.columns.strings[id] ?? "";
      counts.set(schema, (counts.get(schema) ?? 0) + 1);
    }
    return counts;
  }

  #between(from: number, to: number): number {
    return (this.#starts[to] ?? 0) - (this.#starts[from] ?? 0);
  }

  #idOf(text: string | undefined): number {
    if (text === undefined || text === "") return 0;
    return this.#ids.get(text) ?? -1;
  }
}

/**
 * Returns the start of each piece when pieces of these lengths are concatenated, followed by the
 * end of the last piece.
 */
export function computeStarts(lengths: Uint32Array, first = 0): Float64Array {
  const starts = new Float64Array(lengths.length + 1);
  starts[0] = first;
  for (let at = 0; at < lengths.length; at++) starts[at + 1] = (starts[at] ?? 0) + (lengths[at] ?? 0);
  return starts;
}

/** Yields a slice for each run of pieces. @param starts start position of each piece. */
export function* iterateSlices(runs: Runs, starts: Float64Array): Generator<Slice> {
  for (let i = 0; i < runs.length; i += 2) yield { start: starts[runs[i] ?? 0] ?? 0, end: starts[runs[i + 1] ?? 0] ?? 0 };
}

/** Returns the total size of these runs of pieces. @param starts start position of each piece. */
export function measureRuns(runs: Runs, starts: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < runs.length; i += 2) sum += (starts[runs[i + 1] ?? 0] ?? 0) - (starts[runs[i] ?? 0] ?? 0);
  return sum;
}

function formatTag(digest: Buffer): string {
  return digest.toString("base64url").slice(0, 22);
}

function linesWith(ids: Uint32Array, searched: number): Uint32Array {
  let count = 0;
  for (const id of ids) if (id === searched) count++;
  const lines = new Uint32Array(count);
  for (let line = 0, at = 0; line < ids.length; line++) if (ids[line] === searched) lines[at++] = line;
  return lines;
}

/** The lines of each id. */
class LinesById {
  readonly #lines: Uint32Array;
  /** Position of each id's first line. */
  readonly #starts: Uint32Array;

  constructor(ids: Uint32Array, count: number) {
    this.#lines = new Uint32Array(ids.length);
    this.#starts = new Uint32Array(count + 1);
    for (const id of ids) this.#starts[id + 1] = (this.#starts[id + 1] ?? 0) + 1;
    for (let id = 0; id < count; id++) this.#starts[id + 1] = (this.#starts[id + 1] ?? 0) + (this.#starts[id] ?? 0);
    const next = this.#starts.slice();
    ids.forEach((id, line) => {
      const at = next[id] ?? 0;
      this.#lines[at] = line;
      next[id] = at + 1;
    });
  }

  of(id: number): Uint32Array {
    return this.#lines.subarray(this.#starts[id], this.#starts[id + 1]);
  }
}

/** The lines of an artifact that match one query. */
export class LineSelection {
  /** Entity tag; equal for equal bytes. */
  readonly tag: string;
  readonly bytes: number;
  readonly runs: Runs;
  readonly #index: ContentIndex;
  #crc32: number | undefined;

  constructor(index: ContentIndex, runs: Runs, tag: string) {
    this.#index = index;
    this.runs = runs;
    this.tag = tag;
    this.bytes = index.bytesOf(runs);
  }

  /** Positions of the lines in the artifact file. */
  get slices(): Iterable<Slice> {
    return this.#index.slicesOf(this.runs);
  }

  /** CRC-32 of the concatenated lines, computed once. */
  get crc32(): number {
    this.#crc32 ??= this.#index.crc32Of(this.runs);
    return this.#crc32;
  }
}
