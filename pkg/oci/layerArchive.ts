import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";
import { gzip, zstdCompress } from "node:zlib";
import { pack } from "tar-stream";
import { componentsOf } from "./tree.ts";

export type LayerCompression = "gzip" | "zstd" | "none";

/** Fast, and within a tenth of the default level's size for YAML. */
const GZIP_LEVEL = 3;
const EPOCH = new Date(0);

/**
 * A tar archive of files and their directories: the same files give the same bytes, whatever their order.
 * @param files by relative slash path
 * @throws Error for a path that is absolute, empty or has ".." in it
 */
export async function tarOf(files: ReadonlyMap<string, Uint8Array>): Promise<Buffer> {
  const directories = new Set<string>();
  for (const path of files.keys()) {
    const parts = componentsOf(path);
    if (path.startsWith("/") || parts.length === 0 || parts.includes("..") || parts.join("/") !== path)
      throw new Error(`${JSON.stringify(path)} is no relative path of a file`);
    for (let depth = 1; depth < parts.length; depth++) directories.add(parts.slice(0, depth).join("/"));
  }
  const archive = pack();
  const collected = buffer(archive as AsyncIterable<Uint8Array>);
  for (const name of [...directories, ...files.keys()].sort()) {
    const content = files.get(name);
    const type = content ? "file" : "directory";
    archive.entry({ name, type, mode: content ? 0o644 : 0o755, mtime: EPOCH, uid: 0, gid: 0 }, content ?? "");
  }
  archive.finalize();
  return collected;
}

/** `bytes` as a layer, and the media type's suffix for it. */
export async function compressed(bytes: Uint8Array, compression: LayerCompression): Promise<{ bytes: Uint8Array; suffix: string }> {
  if (compression === "gzip") return { bytes: await promisify(gzip)(bytes, { level: GZIP_LEVEL }), suffix: "+gzip" };
  if (compression === "zstd") return { bytes: await promisify(zstdCompress)(bytes), suffix: "+zstd" };
  return { bytes, suffix: "" };
}
