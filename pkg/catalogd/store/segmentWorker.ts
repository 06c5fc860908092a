import { closeSync, fsyncSync, openSync, readSync, writeSync } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { parentPort } from "node:worker_threads";
import { constants, crc32, createDeflateRaw, deflateRawSync } from "node:zlib";
import { getErrorMessage } from "../../errors/errors.ts";
import type { SegmentMessage, SegmentTask } from "./compressor.ts";
import { buildGzipTrailer, GZIP_HEADER, GZIP_LEVEL } from "./encodings.ts";

// Body of the worker thread that `compressor.ts` starts: writes the gzip files of artifacts, one
// segment per line.

const IO_BYTES = 1024 * 1024;
/** Ends a segment at a byte boundary, without references across it. */
const SEGMENT = { level: GZIP_LEVEL, finishFlush: constants.Z_FULL_FLUSH } as const;

class DamageError extends Error {}
class Stopped extends Error {}

/** Reads a file from start to end and computes its CRC-32. */
class Source {
  readonly #fd: number;
  readonly #buffer = Buffer.allocUnsafeSlow(IO_BYTES);
  #start = 0;
  #end = 0;
  crc32 = 0;

  constructor(fd: number) {
    this.#fd = fd;
  }

  /**
   * Returns the next bytes, at most IO_BYTES, which are valid until the next call. @throws
   * DamageError if the file is too short.
   */
  take(bytes: number): Buffer {
    if (this.#end - this.#start < bytes) this.#fill(bytes);
    const taken = this.#buffer.subarray(this.#start, this.#start + bytes);
    this.#start += bytes;
    this.crc32 = crc32(taken, this.crc32);
    return taken;
  }

  /** Whether the end of the file has been reached. */
  get isAtEnd(): boolean {
    return this.#start === this.#end && readSync(this.#fd, this.#buffer, 0, 1, null) === 0;
  }

  #fill(bytes: number): void {
    this.#buffer.copyWithin(0, this.#start, this.#end);
    this.#end -= this.#start;
    this.#start = 0;
    while (this.#end < bytes) {
      const read = readSync(this.#fd, this.#buffer, this.#end, IO_BYTES - this.#end, null);
      if (read === 0) throw new DamageError("the file is shorter than recorded in its index");
      this.#end += read;
    }
  }
}

/** Writes a file through a buffer and computes its size and CRC-32. */
class SegmentTarget {
  readonly #fd: number;
  readonly #buffer = Buffer.allocUnsafeSlow(IO_BYTES);
  #used = 0;
  bytes = 0;
  crc32 = 0;

  constructor(fd: number) {
    this.#fd = fd;
  }

  write(bytes: Uint8Array): void {
    if (this.#used + bytes.length > IO_BYTES) this.flush();
    if (bytes.length > IO_BYTES) this.#writeOut(bytes);
    else {
      this.#buffer.set(bytes, this.#used);
      this.#used += bytes.length;
    }
    this.bytes += bytes.length;
    this.crc32 = crc32(bytes, this.crc32);
  }

  flush(): void {
    this.#writeOut(this.#buffer.subarray(0, this.#used));
    this.#used = 0;
  }

  #writeOut(bytes: Uint8Array): void {
    for (let done = 0; done < bytes.length; ) done += writeSync(this.#fd, bytes, done, bytes.length - done);
  }
}

/** Yields a long line in pieces, because it may not fit into memory. */
function* readPieces(source: Source, bytes: number, stop: SegmentTask["stop"]): Generator<Buffer> {
  for (let left = bytes; left > 0; left -= IO_BYTES) {
    throwIfStopped(stop);
    yield Buffer.from(source.take(Math.min(left, IO_BYTES)));
  }
}

function throwIfStopped(stop: SegmentTask["stop"]): void {
  if (Atomics.load(stop, 0) !== 0) throw new Stopped();
}

async function writeAll(pieces: AsyncIterable<Buffer>, target: SegmentTarget): Promise<void> {
  for await (const piece of pieces) target.write(piece);
}

async function compress(
  { lengths, crc32: wanted, stop }: SegmentTask,
  source: Source,
  target: SegmentTarget,
): Promise<Uint32Array<ArrayBuffer>> {
  const segments = new Uint32Array(lengths.length);
  target.write(GZIP_HEADER);
  let size = 0;
  for (const [line, length] of lengths.entries()) {
    throwIfStopped(stop);
    const before = target.bytes;
    if (length <= IO_BYTES) target.write(deflateRawSync(source.take(length), { ...SEGMENT, chunkSize: chunkSize(length) }));
    else await pipeline(Readable.from(readPieces(source, length, stop)), createDeflateRaw(SEGMENT), (pieces) => writeAll(pieces, target));
    segments[line] = target.bytes - before;
    size += length;
  }
  if (source.crc32 !== wanted) throw new DamageError("the file does not match the checksum in its index");
  if (!source.isAtEnd) throw new DamageError("the file is longer than recorded in its index");
  target.write(buildGzipTrailer(wanted, size));
  target.flush();
  return segments;
}

/**
 * Returns a chunk size that is large enough for the whole segment of a short line, so that it is
 * written in one piece.
 */
function chunkSize(bytes: number): number {
  return Math.min(64 * 1024, bytes + 128);
}

async function make(task: SegmentTask): Promise<SegmentMessage> {
  let from: number | undefined;
  let to: number | undefined;
  try {
    from = openSync(task.from, "r");
    to = openSync(task.to, "w", 0o600);
    const target = new SegmentTarget(to);
    const lengths = await compress(task, new Source(from), target);
    fsyncSync(to);
    return { kind: "made", lengths, bytes: target.bytes, crc32: target.crc32 };
  } catch (err) {
    if (err instanceof Stopped) return { kind: "stopped" };
    return { kind: err instanceof DamageError ? "damaged" : "failed", message: getErrorMessage(err) };
  } finally {
    if (from !== undefined) closeSync(from);
    if (to !== undefined) closeSync(to);
  }
}

// Handles one task at a time: the next task is sent after the response to the last one. A message
// without a task ends the thread.
parentPort?.on("message", (task: SegmentTask | undefined) => {
  if (task === undefined) return parentPort?.close();
  void make(task).then((message) => parentPort?.postMessage(message, message.kind === "made" ? [message.lengths.buffer] : []));
});
