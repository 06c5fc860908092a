import { createReadStream, createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { Worker } from "node:worker_threads";
import { crc32, createZstdCompress } from "node:zlib";
import { buildWorkerEnv, getWorkerFile } from "../../async/taskThread.ts";
import type { ContentIndex } from "./contentIndex.ts";
import { type Encoding, ZSTD_PARAMETERS } from "./encodings.ts";
import { DamagedError } from "./storedFile.ts";

/** Small, because the thread uses only two buffers and one segment at a time. */
const HEAP = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 128 };
/**
 * Time after which an idle thread ends, in milliseconds. Long enough for the next artifact of the
 * same content, because starting a thread takes longer than compressing most artifacts.
 */
const IDLE_MS = 1_000;

/**
 * A thread that compresses artifacts, one at a time, and ends when idle. The thread is asked to
 * stop and never terminated, because terminating a thread that sets up a zlib stream aborts the
 * whole process (Node 24.21, `init_done_ && "close before init"`).
 */
class SegmentThread {
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;

  /**
   * Compresses an artifact. When `signal` aborts, the thread stops before the next line. Must not
   * be called while another task is in progress.
   * @throws Error if `signal` aborts or the thread ends.
   */
  async run(task: Omit<SegmentTask, "stop">, signal: AbortSignal): Promise<SegmentMessage> {
    signal.throwIfAborted();
    clearTimeout(this.#idle);
    const worker = (this.#worker ??= this.#newWorker());
    worker.ref();
    const response = Promise.withResolvers<SegmentMessage>();
    const ended = (): void => response.reject(new Error("the thread that compresses content ended unexpectedly"));
    const flag = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const stop = (): void => void Atomics.store(flag, 0, 1);
    signal.addEventListener("abort", stop, { once: true });
    worker.on("message", response.resolve).on("error", response.reject).on("exit", ended);
    try {
      worker.postMessage({ ...task, stop: flag }, []);
      const message = await response.promise;
      signal.throwIfAborted();
      return message;
    } finally {
      signal.removeEventListener("abort", stop);
      worker.off("message", response.resolve).off("error", response.reject).off("exit", ended);
      worker.unref();
      this.#idle = setTimeout(() => void this.close(), IDLE_MS).unref();
    }
  }

  /** Ends the thread. Must not be called while a task is in progress. */
  async close(): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = undefined;
    if (worker === undefined) return;
    const exited = new Promise((resolve) => worker.once("exit", resolve));
    worker.postMessage(undefined, []);
    worker.ref();
    await exited;
  }

  #newWorker(): Worker {
    const worker = new Worker(getWorkerFile(import.meta.dirname, "segmentWorker"), { resourceLimits: HEAP, env: buildWorkerEnv() });
    worker.on("error", () => undefined); // the waiting task gets the error; an idle thread that fails must not end the program
    worker.once("exit", () => {
      if (this.#worker === worker) this.#worker = undefined; // an ended thread would never respond
    });
    return worker;
  }
}

/** A file to compress with its index, and the path of the compressed file. */
export interface CompressTask {
  encoding: Encoding;
  from: string;
  index: ContentIndex;
  to: string;
}

/** Size and CRC-32 of a compressed file, and for gzip the size of each line's segment in bytes. */
export interface CompressionResult {
  bytes: number;
  crc32: number;
  segments?: Uint32Array<ArrayBuffer>;
}

const IO_BYTES = 512 * 1024;
/** Above this size, zstd needs the full memory for its window and search tables. */
const LARGE_BYTES = 16 * 1024 * 1024;

/** Compresses artifacts one at a time, so that one core remains for requests. */
export class Compressor {
  readonly #thread = new SegmentThread();
  #last: Promise<unknown> = Promise.resolve();

  /**
   * Writes a compressed file of an artifact and syncs it to disk. When `signal` aborts, the promise
   * rejects: immediately while queued, otherwise after the compression has stopped.
   * @throws DamagedError if the artifact's file does not match its index.
   */
  async make(task: CompressTask, signal: AbortSignal): Promise<CompressionResult> {
    signal.throwIfAborted();
    let begun = false;
    const turn = this.#last.then(async () => {
      signal.throwIfAborted();
      begun = true;
      if (task.encoding === "gzip") return this.#gzip(task, signal);
      if (task.index.bytes > LARGE_BYTES) await this.#thread.close(); // the memory of zstd must not add to that of the thread
      return zstd(task, signal);
    });
    this.#last = turn.catch(() => undefined);
    const left = Promise.withResolvers<never>();
    const leave = (): void => {
      if (!begun) left.reject(signal.reason);
    };
    signal.addEventListener("abort", leave, { once: true });
    return Promise.race([turn, left.promise]).finally(() => signal.removeEventListener("abort", leave));
  }

  /** Ends the thread. Must not be called while work is in progress. */
  async close(): Promise<void> {
    await this.#thread.close();
  }

  async #gzip({ from, to, index }: CompressTask, signal: AbortSignal): Promise<CompressionResult> {
    const message = await this.#thread.run({ from, to, lengths: index.columns.lengths, crc32: index.crc32 }, signal);
    if (message.kind === "damaged") throw new DamagedError(`${from}: ${message.message}`);
    if (message.kind === "failed") throw new Error(message.message);
    if (message.kind === "stopped") throw new Error(`${from}: compression was stopped`);
    return { bytes: message.bytes, crc32: message.crc32, segments: message.lengths };
  }
}

async function zstd({ from, to }: CompressTask, signal: AbortSignal): Promise<CompressionResult> {
  const made = { bytes: 0, crc32: 0 };
  const count = async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      made.bytes += chunk.length;
      made.crc32 = crc32(chunk, made.crc32);
      yield chunk;
    }
  };
  const compressor = createZstdCompress({ params: ZSTD_PARAMETERS, chunkSize: IO_BYTES });
  const target = createWriteStream(to, { mode: 0o600, flush: true });
  await pipeline(createReadStream(from, { highWaterMark: IO_BYTES }), compressor, count, target, { signal });
  return made;
}

/**
 * Task for the worker thread that compresses artifacts: compress the file `from` into the gzip file
 * `to`.
 */
export interface SegmentTask {
  from: string;
  to: string;
  /** Size of each line in bytes. */
  lengths: Uint32Array;
  /** Expected CRC-32 of the file. */
  crc32: number;
  /** A shared number. If it is not 0, the thread stops before the next line. */
  stop: Int32Array<SharedArrayBuffer>;
}

/** Response from the worker thread. */
export type SegmentMessage =
  /**
   * `lengths`: size of each line's segment in bytes. `bytes` and `crc32` describe the compressed
   * file.
   */
  | { kind: "made"; lengths: Uint32Array<ArrayBuffer>; bytes: number; crc32: number }
  /** The file does not match its index. */
  | { kind: "damaged"; message: string }
  | { kind: "failed"; message: string }
  /** The task's `stop` was set. */
  | { kind: "stopped" };
