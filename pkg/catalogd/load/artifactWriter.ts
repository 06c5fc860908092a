import { createHash } from "node:crypto";
import { closeSync, openSync, writeSync } from "node:fs";
import { crc32 } from "node:zlib";
import { copyText } from "../../fbc/intern.ts";
import { emitCanonicalJson } from "../../golang/json.ts";
import { HASH_BYTES, type IndexColumns } from "../store/contentIndex.ts";
import type { ContentLimits, KeyLimits } from "./loadMessage.ts";

/** Size and checksums of a written line. */
interface WrittenLine {
  /** Size in bytes, including the newline. */
  bytes: number;
  /** SHA-256 of the line with its newline. */
  sha256: Buffer;
  /** CRC-32 of the whole file up to the end of the line. */
  crc32: number;
}

const FIRST_LINES = 1_024;

/**
 * Collects the index entries of a catalog file, line by line. Uses about 36 bytes per line, and
 * stores equal texts once.
 */
export class IndexBuilder {
  readonly #ids = new Map<string, number>([["", 0]]);
  readonly #lengths = new Column();
  readonly #schemas = new Column();
  readonly #packages = new Column();
  readonly #names = new Column();
  readonly #checksums = new Column();
  #hashes = new Uint8Array(FIRST_LINES * HASH_BYTES);
  readonly #limits: KeyLimits;
  /** Number of characters of all texts. */
  #length = 0;

  constructor(limits: KeyLimits) {
    this.#limits = limits;
  }

  /** @throws RangeError if a schema, package or name is too long, or all together are. */
  add(meta: { schema: string; package: string; name: string }, line: WrittenLine): void {
    const [schema, packageName, name] = [this.#id("schema", meta.schema), this.#id("package", meta.package), this.#id("name", meta.name)];
    const at = this.lines * HASH_BYTES;
    if (at === this.#hashes.length) {
      const more = new Uint8Array(at * 2);
      more.set(this.#hashes);
      this.#hashes = more;
    }
    this.#hashes.set(line.sha256.subarray(0, HASH_BYTES), at);
    this.#schemas.push(schema);
    this.#packages.push(packageName);
    this.#names.push(name);
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

  /** Replaces ill-formed text with U+FFFD, as happens when it is read from disk or from queries. */
  #id(field: "schema" | "package" | "name", raw: string): number {
    const { keyLength, totalKeyLength } = this.#limits;
    if (raw.length > keyLength) throw new RangeError(`the ${field} is too long: ${raw.length} characters, maximum ${keyLength}`);
    const text = raw.isWellFormed() ? raw : raw.toWellFormed();
    const known = this.#ids.get(text);
    if (known !== undefined) return known;
    this.#length += text.length;
    if (this.#length > totalKeyLength)
      throw new RangeError(`the catalog has too many different schemas, packages and names: more than ${totalKeyLength} characters`);
    const id = this.#ids.size;
    this.#ids.set(copyText(text), id);
    return id;
  }
}

/** A list of numbers below 2 ** 32. */
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

const WRITE_BYTES = 512 * 1024;
const SHORT_PIECE = 1_024;
const JOIN_CHARACTERS = 64 * 1024;

/** Appends lines to a file piece by piece through a buffer. */
class LineWriter {
  readonly #fd: number;
  readonly #buffer = Buffer.allocUnsafeSlow(WRITE_BYTES);
  #used = 0;
  /** Short pieces, which are joined before encoding. */
  #short = "";
  #hash = createHash("sha256");
  #length = 0;
  #crc32 = 0;

  constructor(path: string) {
    this.#fd = openSync(path, "wx", 0o600);
  }

  write(piece: string): void {
    if (piece.length < SHORT_PIECE) {
      this.#short += piece;
      if (this.#short.length < JOIN_CHARACTERS) return;
      this.#encodeShort();
    } else {
      this.#encodeShort();
      this.#encode(piece);
    }
  }

  /** Ends a line. */
  endLine(): WrittenLine {
    this.#short += "\n";
    this.#encodeShort();
    const line = { bytes: this.#length, sha256: this.#hash.digest(), crc32: this.#crc32 };
    this.#hash = createHash("sha256");
    this.#length = 0;
    return line;
  }

  close(): void {
    this.#flush();
    closeSync(this.#fd);
  }

  #encodeShort(): void {
    this.#encode(this.#short);
    this.#short = "";
  }

  #encode(text: string): void {
    for (let from = 0, to = 0; from < text.length; from = to) {
      to = Math.min(from + JOIN_CHARACTERS, text.length);
      if (to < text.length && isHighSurrogate(text.charCodeAt(to - 1))) to--;
      if ((to - from) * 3 > WRITE_BYTES - this.#used) this.#flush();
      const start = this.#used;
      this.#used += this.#buffer.write(text.slice(from, to), start);
      this.#length += this.#used - start;
      const written = this.#buffer.subarray(start, this.#used);
      this.#hash.update(written);
      this.#crc32 = crc32(written, this.#crc32);
    }
  }

  #flush(): void {
    for (let done = 0; done < this.#used; ) done += writeSync(this.#fd, this.#buffer, done, this.#used - done);
    this.#used = 0;
  }
}

/**
 * Returns whether a code unit is a high surrogate, which must not be separated from the following
 * low surrogate.
 */
function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

/** Writes an artifact file with one canonical JSON object per line, and collects the index of the file. */
export class ArtifactWriter {
  readonly #out: LineWriter;
  readonly #index: IndexBuilder;
  readonly #maxLength: number;
  /** Number of characters in the current line. */
  #length = 0;

  /** @param limits `documentBytes` is the maximum number of characters in a line. */
  constructor(path: string, limits: KeyLimits & Pick<ContentLimits, "documentBytes">) {
    this.#out = new LineWriter(path);
    this.#index = new IndexBuilder(limits);
    this.#maxLength = limits.documentBytes;
  }

  get lines(): number {
    return this.#index.lines;
  }

  /**
   * Writes a line. @returns the line's SHA-256.
   * @throws RangeError as soon as the line is too long, or like `IndexBuilder.add`. Nodes that are
   * shared within `value` are written each time they occur.
   * @throws TypeError like `emitCanonicalJson`.
   */
  add(key: { schema: string; package: string; name: string }, value: unknown): Buffer {
    this.#length = 0;
    emitCanonicalJson(value, this.#emit);
    const line = this.#out.endLine();
    this.#index.add(key, line);
    return line.sha256;
  }

  readonly #emit = (piece: string): void => {
    this.#length += piece.length;
    if (this.#length > this.#maxLength) throw new RangeError(`the object is too large: more than ${this.#maxLength} characters of JSON`);
    this.#out.write(piece);
  };

  /** Closes the file. */
  close(): IndexColumns {
    this.#out.close();
    return this.#index.columns();
  }
}
