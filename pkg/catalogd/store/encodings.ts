import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { constants, gzip, type ZstdOptions, zstdCompress } from "node:zlib";
import { computeStarts, iterateSlices, measureRuns, type Runs, type Slice } from "./contentIndex.ts";

/**
 * Content codings of served catalogs, preferred first. zstd compresses best, because it finds
 * distant similarities between the bundles of a package.
 */
export const ENCODINGS = ["zstd", "gzip"] as const;
/** A content coding of served catalogs. */
export type Encoding = (typeof ENCODINGS)[number];

/** File name suffixes of compressed files. */
export const FILE_SUFFIX: Readonly<Record<Encoding, string>> = { zstd: ".zst", gzip: ".gz" };

/** zlib's default: a third of the time of the best level, for 2% more bytes. */
export const GZIP_LEVEL = 6;
/** Clients are not required to support a larger window. @see RFC 9659 */
const ZSTD_WINDOW_LOG = 23;
/** zstd parameters for catalogs: zstd's default level, with long distance matching. */
export const ZSTD_PARAMETERS: NonNullable<ZstdOptions["params"]> = {
  [constants.ZSTD_c_compressionLevel]: constants.ZSTD_CLEVEL_DEFAULT,
  [constants.ZSTD_c_windowLog]: ZSTD_WINDOW_LOG,
  [constants.ZSTD_c_enableLongDistanceMatching]: 1,
};
const gzipped = promisify(gzip);
const zstdCompressed = promisify(zstdCompress);

/**
 * A short id of each compressor version with its parameters, which changes whenever the same
 * content may be compressed to different bytes. The id is part of the ETag, and files with another
 * id are recreated.
 */
export const MAKER: Readonly<Record<Encoding, string>> = {
  gzip: short(`lines 1, level ${GZIP_LEVEL}, zlib ${process.versions["zlib"]}`),
  zstd: short(`1, ${JSON.stringify(ZSTD_PARAMETERS)}, zstd ${process.versions["zstd"]}`),
};

/** Compresses bytes in memory. */
export function compressBytes(encoding: Encoding, bytes: Uint8Array): Promise<Uint8Array> {
  if (encoding === "gzip") return gzipped(bytes, { level: GZIP_LEVEL });
  return zstdCompressed(bytes, { params: ZSTD_PARAMETERS, pledgedSrcSize: bytes.byteLength });
}

function short(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 6);
}

/**
 * Header of each gzip response: deflate, without name or time, unknown operating system. @see RFC
 * 1952 section 2.3
 */
export const GZIP_HEADER: Uint8Array = Uint8Array.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
/** An empty final block. */
const LAST_BLOCK = [0x03, 0x00];
const END_BYTES = LAST_BLOCK.length + 8;

/** Returns the end of a gzip response for text with this CRC-32 and size. */
export function buildGzipTrailer(crc32: number, bytes: number): Uint8Array {
  const end = Buffer.alloc(END_BYTES);
  end.set(LAST_BLOCK);
  end.writeUInt32LE(crc32, LAST_BLOCK.length);
  end.writeUInt32LE(bytes % 2 ** 32, LAST_BLOCK.length + 4);
  return end;
}

/** A gzip response: pieces of the segment file and the bytes around them. Iterate the pieces once. */
export interface GzipPieces {
  readonly pieces: Iterable<Slice | Uint8Array>;
  readonly bytes: number;
}

/**
 * Positions of an artifact's lines in its gzip file. The file is one gzip member in which each line
 * is an independent deflate segment that ends at a byte boundary. Any selection of segments between
 * a header and an end is therefore a valid gzip member without further compression.
 */
export class GzipSegments {
  readonly #starts: Float64Array;

  /** @param lengths size of each line's segment in bytes. */
  constructor(lengths: Uint32Array) {
    this.#starts = computeStarts(lengths, GZIP_HEADER.length);
  }

  /** Size of the whole file in bytes, including header and end. */
  get bytes(): number {
    return (this.#starts.at(-1) ?? 0) + END_BYTES;
  }

  /** Returns the lines of these runs as one gzip member. */
  pieces({ runs, crc32, bytes }: { runs: Runs; crc32: number; bytes: number }): GzipPieces {
    const size = GZIP_HEADER.length + measureRuns(runs, this.#starts) + END_BYTES;
    return { pieces: this.#iteratePieces(runs, buildGzipTrailer(crc32, bytes)), bytes: size };
  }

  *#iteratePieces(runs: Runs, trailer: Uint8Array): Generator<Slice | Uint8Array> {
    yield GZIP_HEADER;
    yield* iterateSlices(runs, this.#starts);
    yield trailer;
  }
}
