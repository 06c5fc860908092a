import { Transform } from "node:stream";
import { ImageContentError } from "../imageErrors.ts";

const MAGIC = 0xfd2fb528;
const MAGIC_BYTES = Buffer.from("28b52ffd", "hex");
/** Magic number of skippable frames; its last four bits are arbitrary. */
const SKIPPABLE = 0x184d2a50;
const DICTIONARY_ID_BYTES = [0, 1, 2, 4];
const CONTENT_SIZE_BYTES = [0, 2, 4, 8];
/** Number of bytes that the next step needs. */
const HEAD_BYTES = { magic: 4, skippableSize: 4, frameHeader: 1, blockHeader: 3 } as const;
type FrameSection = keyof typeof HEAD_BYTES;

/**
 * Splits a zstd stream so that no chunk spans the end of a frame, and removes frames without data.
 * Node's decompressor treats the end of a frame within a chunk as the end of the stream, but layers
 * often have many frames (zstd:chunked has one or more per file).
 * @see RFC 8878 §3.1
 */
export function createZstdFrameSplitter(): Transform {
  const scanner = new FrameScanner();
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      try {
        for (const piece of scanner.pieces(chunk)) this.push(piece);
        done();
      } catch (err) {
        done(err as Error);
      }
    },
    flush(done) {
      done(scanner.between ? null : new ImageContentError("invalid archive: the zstd data ends within a frame"));
    },
  });
}

/** Finds the ends of the frames in a stream: reads each header, and skips the number of bytes that the header declares. */
class FrameScanner {
  #part: FrameSection = "magic";
  readonly #head: number[] = [];
  /** remaining bytes of the last header's data */
  #left = 0;
  /** inside a frame with data */
  #forwards = false;
  #hasChecksum = false;

  /** Whether the stream may end here. */
  get between(): boolean {
    return this.#part === "magic" && this.#head.length === 0 && this.#left === 0;
  }

  /**
   * Yields the parts of `chunk` that belong to frames with data; each ends with its frame or with
   * the chunk.
   */
  *pieces(chunk: Buffer): Generator<Buffer> {
    let start = 0;
    for (let at = 0; at < chunk.length; ) {
      if (this.#left > 0) {
        const taken = Math.min(this.#left, chunk.length - at);
        this.#left -= taken;
        at += taken;
      } else {
        this.#head.push(chunk[at] ?? 0);
        at++;
        if (this.#head.length < HEAD_BYTES[this.#part]) continue;
        this.#readHead();
        if (this.#part === "frameHeader") {
          yield MAGIC_BYTES;
          this.#forwards = true;
          start = at;
        }
      }
      if (this.#left === 0 && this.#part === "magic" && this.#forwards) {
        yield chunk.subarray(start, at);
        this.#forwards = false;
      }
    }
    if (this.#forwards && start < chunk.length) yield chunk.subarray(start);
  }

  /** Parses the completed header and determines the number of bytes to skip until the next header. */
  #readHead(): void {
    const value = Buffer.from(this.#head.splice(0)).readUIntLE(0, HEAD_BYTES[this.#part]);
    switch (this.#part) {
      case "magic":
        if (value === MAGIC) this.#part = "frameHeader";
        else if ((value & ~0xf) >>> 0 === SKIPPABLE) this.#part = "skippableSize";
        else throw new ImageContentError("invalid archive: not a zstd frame");
        break;
      case "skippableSize":
        this.#left = value;
        this.#part = "magic";
        break;
      case "frameHeader": {
        const singleSegment = (value >> 5) & 1;
        const contentSizeFlag = value >> 6;
        this.#hasChecksum = ((value >> 2) & 1) === 1;
        const contentSize = contentSizeFlag === 0 ? singleSegment : (CONTENT_SIZE_BYTES[contentSizeFlag] ?? 0);
        this.#left = 1 - singleSegment + (DICTIONARY_ID_BYTES[value & 3] ?? 0) + contentSize;
        this.#part = "blockHeader";
        break;
      }
      case "blockHeader": {
        const isLast = (value & 1) === 1;
        const isRunLength = ((value >> 1) & 3) === 1;
        this.#left = (isRunLength ? 1 : value >> 3) + (isLast && this.#hasChecksum ? 4 : 0);
        if (isLast) this.#part = "magic";
        break;
      }
    }
  }
}
