import { createReadStream, createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { crc32, createZstdCompress } from "node:zlib";
import type { ContentIndex } from "./contentIndex.ts";
import { DamagedError } from "./damagedError.ts";
import { type Encoding, ZSTD_PARAMETERS } from "./encodings.ts";
import { SegmentThread } from "./segmentThread.ts";

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

/** Compresses parts of catalogs, one at a time, so that one core is left for answers. */
export class Compressor {
  readonly #thread = new SegmentThread();
  #last: Promise<unknown> = Promise.resolve();

  /**
   * Writes the compressed form of a part; it is safely on disk afterwards. When `signal` aborts, a form that is being made is given up first; one
   * that waits for its turn is not waited for.
   * @throws DamagedError when the part's file is not what its index says.
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
