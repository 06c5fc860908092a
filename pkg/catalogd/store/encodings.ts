import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { constants, gzip, type ZstdOptions, zstdCompress } from "node:zlib";
import { type Runs, type Slice, slicesOf, startsOf } from "./contentIndex.ts";

/** Content codings that catalogs are served in, the better one first: zstd finds what bundles of one package have in common, far apart. */
export const ENCODINGS = ["zstd", "gzip"] as const;
/** A content coding that catalogs are served in. */
export type Encoding = (typeof ENCODINGS)[number];

/** Ends of the names of compressed files. */
export const FILE_SUFFIX: Readonly<Record<Encoding, string>> = { zstd: ".zst", gzip: ".gz" };

/** zlib's default: a third of the time of the best level, for 2 % more bytes. */
export const GZIP_LEVEL = 6;
/** Receivers need not accept a larger window. @see RFC 9659 */
const ZSTD_WINDOW_LOG = 23;
/** How zstd compresses catalogs: zstd's default level, with long distance matching. */
export const ZSTD_PARAMETERS: NonNullable<ZstdOptions["params"]> = {
  [constants.ZSTD_c_compressionLevel]: constants.ZSTD_CLEVEL_DEFAULT,
  [constants.ZSTD_c_windowLog]: ZSTD_WINDOW_LOG,
  [constants.ZSTD_c_enableLongDistanceMatching]: 1,
};
const gzipped = promisify(gzip);
const zstdCompressed = promisify(zstdCompress);

/**
 * How a coding's bytes are made, short: text that other bytes for the same content come with another one of. It is part of the ETag, and what
 * was made otherwise is made again.
 */
export const MAKER: Readonly<Record<Encoding, string>> = {
  gzip: short(`lines 1, level ${GZIP_LEVEL}, zlib ${process.versions["zlib"]}`),
  zstd: short(`1, ${JSON.stringify(ZSTD_PARAMETERS)}, zstd ${process.versions["zstd"]}`),
};

/** Compresses bytes at hand. */
export function compressBytes(encoding: Encoding, bytes: Uint8Array): Promise<Uint8Array> {
  if (encoding === "gzip") return gzipped(bytes, { level: GZIP_LEVEL });
  return zstdCompressed(bytes, { params: ZSTD_PARAMETERS, pledgedSrcSize: bytes.byteLength });
}

function short(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 6);
}

/** How each gzip answer starts: deflate, without name or time, made anywhere. @see RFC 1952 section 2.3 */
export const GZIP_HEADER: Uint8Array = Uint8Array.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
/** An empty last block. */
const LAST_BLOCK = [0x03, 0x00];
const END_BYTES = LAST_BLOCK.length + 8;

/** How a gzip answer ends whose text has this CRC-32 and size. */
export function gzipEnd(crc32: number, bytes: number): Uint8Array {
  const end = Buffer.alloc(END_BYTES);
  end.set(LAST_BLOCK);
  end.writeUInt32LE(crc32, LAST_BLOCK.length);
  end.writeUInt32LE(bytes % 2 ** 32, LAST_BLOCK.length + 4);
  return end;
}

/** A gzip answer as pieces of the segments' file and bytes around them. */
export interface GzipPieces {
  readonly pieces: readonly (Slice | Uint8Array)[];
  readonly bytes: number;
}

/**
 * Where each line of an artifact is in its gzip file. That file is the artifact as one gzip member, in which each line is a deflate segment that needs none
 * before it and ends at a whole byte; so any segments between a header and an end are one gzip member as well, and nothing is compressed again.
 */
export class GzipSegments {
  readonly #starts: Float64Array;

  /** @param lengths bytes of each line's segment. */
  constructor(lengths: Uint32Array) {
    this.#starts = startsOf(lengths, GZIP_HEADER.length);
  }

  /** Bytes of the whole file, its header and end included. */
  get bytes(): number {
    return (this.#starts.at(-1) ?? 0) + END_BYTES;
  }

  /** The lines of these runs as one gzip member. */
  pieces({ runs, crc32, bytes }: { runs: Runs; crc32: number; bytes: number }): GzipPieces {
    const slices = slicesOf(runs, this.#starts);
    const size = slices.reduce((sum, { start, end }) => sum + end - start, GZIP_HEADER.length + END_BYTES);
    return { pieces: [GZIP_HEADER, ...slices, gzipEnd(crc32, bytes)], bytes: size };
  }
}
