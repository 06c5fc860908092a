import { createReadStream, createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { Worker } from "node:worker_threads";
import { crc32, createZstdCompress } from "node:zlib";
import { workerFile } from "../../async/taskThread.ts";
import type { ContentIndex } from "./contentIndex.ts";
import { type Encoding, ZSTD_PARAMETERS } from "./encodings.ts";
import { DamagedError } from "./storedFile.ts";

/** The thread holds two buffers and one segment at a time. */
const HEAP = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 128 };
/** How long the thread waits for more: a content has several artifacts, and a thread takes longer to start than most of them to compress. */
const IDLE_MS = 1_000;

/**
 * A thread that compresses artifacts, one at a time; it is there only while there is something to compress. It is asked to stop and to end, and never
 * terminated: a thread that is terminated while it sets up a zlib stream aborts the whole process (Node 24.21, `init_done_ && "close before init"`).
 */
class SegmentThread {
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;

  /**
   * Compresses an artifact; when `signal` aborts, the thread stops before the next line. Not while another task is under way.
   * @throws Error when `signal` aborts or the thread ends.
   */
  async run(task: Omit<SegmentTask, "stop">, signal: AbortSignal): Promise<SegmentMessage> {
    signal.throwIfAborted();
    clearTimeout(this.#idle);
    const worker = (this.#worker ??= this.#newWorker());
    worker.ref();
    const answer = Promise.withResolvers<SegmentMessage>();
    const ended = (): void => answer.reject(new Error("the thread that compresses content ended early"));
    const flag = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const stop = (): void => void Atomics.store(flag, 0, 1);
    signal.addEventListener("abort", stop, { once: true });
    worker.on("message", answer.resolve).on("error", answer.reject).on("exit", ended);
    try {
      worker.postMessage({ ...task, stop: flag }, []);
      const message = await answer.promise;
      signal.throwIfAborted();
      return message;
    } finally {
      signal.removeEventListener("abort", stop);
      worker.off("message", answer.resolve).off("error", answer.reject).off("exit", ended);
      worker.unref();
      this.#idle = setTimeout(() => void this.close(), IDLE_MS).unref();
    }
  }

  /** Ends the thread. No task may be under way. */
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
    const worker = new Worker(workerFile(import.meta.dirname, "segmentWorker"), { resourceLimits: HEAP, env: {} });
    worker.on("error", () => undefined); // who waits for an answer hears of it; while nobody does it is no reason to end the program
    worker.once("exit", () => {
      if (this.#worker === worker) this.#worker = undefined; // it would never answer
    });
    return worker;
  }
}

/** What there is to compress: a file and its index; and where the compressed form goes. */
export interface CompressTask {
  encoding: Encoding;
  from: string;
  index: ContentIndex;
  to: string;
}

/** What was written: size and CRC-32 of the compressed file, and for gzip the bytes of each line's segment. */
export interface MadeForm {
  bytes: number;
  crc32: number;
  segments?: Uint32Array<ArrayBuffer>;
}

const IO_BYTES = 512 * 1024;
/** From here on zstd takes the memory that its window and its search need. */
const LARGE_BYTES = 16 * 1024 * 1024;

/** Compresses artifacts of catalogs, one at a time, so that one core is left for answers. */
export class Compressor {
  readonly #thread = new SegmentThread();
  #last: Promise<unknown> = Promise.resolve();

  /**
   * Writes the compressed form of an artifact; it is safely on disk afterwards. When `signal` aborts, a form that is being made is given up first; one
   * that waits for its turn is not waited for.
   * @throws DamagedError when the artifact's file is not what its index says.
   */
  async make(task: CompressTask, signal: AbortSignal): Promise<MadeForm> {
    signal.throwIfAborted();
    let begun = false;
    const turn = this.#last.then(async () => {
      signal.throwIfAborted();
      begun = true;
      if (task.encoding === "gzip") return this.#gzip(task, signal);
      if (task.index.bytes > LARGE_BYTES) await this.#thread.close(); // what zstd needs is not to come on top of what the thread has
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

  /** Ends the thread. Nothing may be under way. */
  async close(): Promise<void> {
    await this.#thread.close();
  }

  async #gzip({ from, to, index }: CompressTask, signal: AbortSignal): Promise<MadeForm> {
    const message = await this.#thread.run({ from, to, lengths: index.columns.lengths, crc32: index.crc32 }, signal);
    if (message.kind === "damaged") throw new DamagedError(`${from}: ${message.message}`);
    if (message.kind === "failed") throw new Error(message.message);
    if (message.kind === "stopped") throw new Error(`${from}: compression was stopped`);
    return { bytes: message.bytes, crc32: message.crc32, segments: message.lengths };
  }
}

async function zstd({ from, to }: CompressTask, signal: AbortSignal): Promise<MadeForm> {
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

/** What the worker thread that compresses an artifact is to do: write the gzip form of the file `from` to the file `to`. */
export interface SegmentTask {
  from: string;
  to: string;
  /** Bytes of each line. */
  lengths: Uint32Array;
  /** CRC-32 that the file must have. */
  crc32: number;
  /** One number, shared with the thread: the thread stops before the next line once it is not 0. */
  stop: Int32Array<SharedArrayBuffer>;
}

/** What the worker thread says when it is done. */
export type SegmentMessage =
  /** `lengths`: bytes of each line's segment. `bytes` and `crc32` are those of the compressed file. */
  | { kind: "made"; lengths: Uint32Array<ArrayBuffer>; bytes: number; crc32: number }
  /** The file is not what its index says. */
  | { kind: "damaged"; message: string }
  | { kind: "failed"; message: string }
  /** The task's `stop` was set. */
  | { kind: "stopped" };
