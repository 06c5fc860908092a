import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { gzip, zstdCompress } from "node:zlib";
import { pack } from "tar-stream";
import { splitPath } from "../pull/tree.ts";

/** The compression of a layer. */
export type LayerCompression = "gzip" | "zstd" | "none";

/** Compression level: fast, and for YAML the result is at most 10% larger than with the default level. */
export const LAYER_GZIP_LEVEL = 3;
const EPOCH = new Date(0);

/** A file of an archive. */
export interface ArchivedFile {
  /** relative slash path */
  readonly path: string;
  readonly size: number;
  /** default: false */
  readonly executable?: boolean;
  /** its bytes, `size` in total */
  open(): AsyncIterable<Uint8Array>;
}

/**
 * Creates a tar archive of files and their directories: the same files always have the same bytes,
 * in any order.
 * @param files by relative slash path
 * @throws Error for a path that is absolute, empty or contains ".."
 */
export async function createTar(files: ReadonlyMap<string, Uint8Array>): Promise<Buffer> {
  const archived = [...files].map(([path, bytes]) => ({ path, size: bytes.byteLength, open: () => Readable.from([bytes]) }));
  return await buffer(createTarStream(archived));
}

/** Like `createTar`, but as a stream of one file after another. @throws Error as `createTar`, synchronously. */
export function createTarStream(files: readonly ArchivedFile[]): AsyncIterable<Uint8Array> {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const directories = new Set<string>();
  for (const path of byPath.keys()) {
    const parts = splitPath(path);
    if (path.startsWith("/") || parts.length === 0 || parts.includes("..") || parts.join("/") !== path)
      throw new Error(`${JSON.stringify(path)} is not a relative file path`);
    for (let depth = 1; depth < parts.length; depth++) directories.add(parts.slice(0, depth).join("/"));
  }
  const archive = pack();
  const write = async (): Promise<void> => {
    for (const name of [...directories, ...byPath.keys()].sort()) {
      const file = byPath.get(name);
      const header = { name, mode: file && !file.executable ? 0o644 : 0o755, mtime: EPOCH, uid: 0, gid: 0 };
      if (file) await pipeline(file.open(), archive.entry({ ...header, type: "file", size: file.size }));
      else archive.entry({ ...header, type: "directory" });
    }
    archive.finalize();
  };
  write().catch((err: Error) => archive.destroy(err));
  return archive as AsyncIterable<Uint8Array>;
}

/** Compresses `bytes` as a layer, and returns the suffix of its media type. */
export async function compressLayer(bytes: Uint8Array, compression: LayerCompression): Promise<{ bytes: Uint8Array; suffix: string }> {
  if (compression === "gzip") return { bytes: await promisify(gzip)(bytes, { level: LAYER_GZIP_LEVEL }), suffix: "+gzip" };
  if (compression === "zstd") return { bytes: await promisify(zstdCompress)(bytes), suffix: "+zstd" };
  return { bytes, suffix: "" };
}
