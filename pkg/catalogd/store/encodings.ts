import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { constants, gzip, type ZstdOptions, zstdCompress } from "node:zlib";

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
