import { createHash } from "node:crypto";
import { closeSync, openSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { messageOf } from "../errors/errors.ts";
import { ByteQueue } from "../fbc/byteQueue.ts";
import { emitCanonicalJson } from "../fbc/canonical.ts";
import { MetaDecoder } from "../fbc/decode.ts";
import type { Meta } from "../fbc/types.ts";
import { type CatalogFile, catalogFiles } from "./catalogFiles.ts";
import { IndexBuilder } from "./contentIndex.ts";
import { CONTENT_FILE, type LoadMessage, type LoadTask } from "./loadMessage.ts";

// The body of the worker thread that `loader.ts` starts: reads a catalog's files and writes its content file, one document in memory at a time.

const READ_BYTES = 256 * 1024;
const WRITE_BYTES = 512 * 1024;
const SHORT_PIECE = 1_024;
const JOIN_CHARACTERS = 64 * 1024;

/** Appends lines to a file through a buffer, piece by piece. */
class LineWriter {
  readonly #fd: number;
  readonly #buffer = Buffer.allocUnsafeSlow(WRITE_BYTES);
  #used = 0;
  /** Short pieces, joined before they are encoded. */
  #short = "";
  #hash = createHash("sha256");
  #length = 0;

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

  /** Ends a line; returns its bytes with the newline and its SHA-256. */
  endLine(): { bytes: number; sha256: Buffer } {
    this.#short += "\n";
    this.#encodeShort();
    const line = { bytes: this.#length, sha256: this.#hash.digest() };
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
      this.#hash.update(this.#buffer.subarray(start, this.#used));
    }
  }

  #flush(): void {
    for (let done = 0; done < this.#used; ) done += writeSync(this.#fd, this.#buffer, done, this.#used - done);
    this.#used = 0;
  }
}

/** The first half of a character beyond the basic plane, which must not be parted from the second. */
function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

/** Memory that is used for one file after another. */
interface Buffers {
  read: Buffer;
  queue: ByteQueue;
}

function* metasOf(file: CatalogFile, { read, queue }: Buffers, documentBytes: number): Generator<Meta> {
  const decoder = new MetaDecoder(file.path, { maxDocumentBytes: documentBytes, buffer: queue });
  const fd = openSync(file.location, "r");
  try {
    for (let size = readSync(fd, read); size > 0; size = readSync(fd, read)) yield* decoder.push(read.subarray(0, size));
    yield* decoder.end();
  } finally {
    closeSync(fd);
  }
}

function load({ root, staging, limits }: LoadTask): LoadMessage {
  const out = new LineWriter(join(staging, CONTENT_FILE));
  const emit = (piece: string): void => out.write(piece);
  const index = new IndexBuilder();
  const buffers = { read: Buffer.allocUnsafeSlow(READ_BYTES), queue: new ByteQueue() };
  const files = catalogFiles(root, limits);
  for (const file of files) {
    for (const meta of metasOf(file, buffers, limits.documentBytes)) {
      emitCanonicalJson(meta.blob, emit);
      index.add(meta, out.endLine());
      if (index.lines > limits.metas) throw new Error(`the catalog has more than ${limits.metas} objects`);
    }
  }
  out.close();
  return { kind: "loaded", files: files.length, columns: index.columns() };
}

function answer(): LoadMessage {
  try {
    return load(workerData as LoadTask);
  } catch (err) {
    return { kind: "failed", message: messageOf(err) };
  }
}

const message = answer();
const buffers =
  message.kind === "loaded" ? Object.values(message.columns).flatMap((column) => (Array.isArray(column) ? [] : [column.buffer])) : [];
parentPort?.postMessage(message, buffers);
