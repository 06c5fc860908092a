import { closeSync, openSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { messageOf } from "../errors/errors.ts";
import { canonicalJson } from "../fbc/canonical.ts";
import { MetaDecoder } from "../fbc/decode.ts";
import type { Meta } from "../fbc/types.ts";
import { type CatalogFile, catalogFiles } from "./catalogFiles.ts";
import { IndexBuilder } from "./contentIndex.ts";
import { CONTENT_FILE, type LoadMessage, type LoadTask } from "./loadMessage.ts";

// The body of the worker thread that `loader.ts` starts: reads a catalog's files and writes its content file, one document in memory at a time.

const READ_BYTES = 1024 * 1024;
const WRITE_BYTES = 1024 * 1024;

/** Appends to a file through a buffer. */
class LineWriter {
  readonly #fd: number;
  readonly #buffer = Buffer.allocUnsafeSlow(WRITE_BYTES);
  #used = 0;

  constructor(path: string) {
    this.#fd = openSync(path, "wx", 0o600);
  }

  /** Writes `text` and a newline; returns the bytes of both, valid until the next call. */
  write(text: string): Uint8Array {
    const most = text.length * 3 + 1;
    if (most > WRITE_BYTES - this.#used) this.#flush();
    if (most > WRITE_BYTES) {
      const line = Buffer.from(`${text}\n`);
      this.#out(line);
      return line;
    }
    const start = this.#used;
    this.#used += this.#buffer.write(text, start);
    this.#buffer[this.#used++] = 0x0a;
    return this.#buffer.subarray(start, this.#used);
  }

  close(): void {
    this.#flush();
    closeSync(this.#fd);
  }

  #flush(): void {
    this.#out(this.#buffer.subarray(0, this.#used));
    this.#used = 0;
  }

  #out(bytes: Uint8Array): void {
    for (let done = 0; done < bytes.byteLength; ) done += writeSync(this.#fd, bytes, done);
  }
}

function* metasOf(file: CatalogFile, buffer: Buffer, documentBytes: number): Generator<Meta> {
  const decoder = new MetaDecoder(file.path, { maxDocumentBytes: documentBytes });
  const fd = openSync(file.location, "r");
  try {
    for (let size = readSync(fd, buffer); size > 0; size = readSync(fd, buffer)) yield* decoder.push(buffer.subarray(0, size));
    yield* decoder.end();
  } finally {
    closeSync(fd);
  }
}

function load({ root, staging, limits }: LoadTask): LoadMessage {
  const out = new LineWriter(join(staging, CONTENT_FILE));
  const index = new IndexBuilder();
  const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
  const files = catalogFiles(root, limits);
  for (const file of files) {
    for (const meta of metasOf(file, buffer, limits.documentBytes)) {
      index.add(meta, out.write(canonicalJson(meta.blob)));
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
