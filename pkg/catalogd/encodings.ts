import { createReadStream, createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { constants, createGzip, createZstdCompress, gzip, zstdCompress } from "node:zlib";

/** Content codings that catalogs are served in, the better one first: zstd finds what bundles of one package have in common, far apart. */
export const ENCODINGS = ["zstd", "gzip"] as const;
export type Encoding = (typeof ENCODINGS)[number];

/** Ends of the names of compressed files. */
export const FILE_SUFFIX: Readonly<Record<Encoding, string>> = { zstd: ".zst", gzip: ".gz" };

const IO_BYTES = 512 * 1024;
/** Receivers need not accept a larger window. @see RFC 9659 */
const ZSTD_WINDOW_LOG = 23;
const ZSTD_PARAMETERS = {
  [constants.ZSTD_c_compressionLevel]: constants.ZSTD_CLEVEL_DEFAULT,
  [constants.ZSTD_c_windowLog]: ZSTD_WINDOW_LOG,
  [constants.ZSTD_c_enableLongDistanceMatching]: 1,
};
const gzipped = promisify(gzip);
const zstdCompressed = promisify(zstdCompress);

/** Compresses a whole file into another, which is safely on disk afterwards. */
export async function compressFile(encoding: Encoding, from: string, to: string, signal: AbortSignal): Promise<void> {
  const compressor =
    encoding === "zstd" ? createZstdCompress({ params: ZSTD_PARAMETERS, chunkSize: IO_BYTES }) : createGzip({ chunkSize: IO_BYTES });
  const target = createWriteStream(to, { mode: 0o600, flush: true });
  await pipeline(createReadStream(from, { highWaterMark: IO_BYTES }), compressor, target, { signal });
}

/** Compresses bytes at hand. */
export function compressBytes(encoding: Encoding, bytes: Uint8Array): Promise<Uint8Array> {
  return encoding === "zstd" ? zstdCompressed(bytes, { params: ZSTD_PARAMETERS, pledgedSrcSize: bytes.byteLength }) : gzipped(bytes);
}
