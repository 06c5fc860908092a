import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { type ArchivedFile, createTarStream } from "../pkg/oci/store/layerArchive.ts";

/** Byte of the gzip header with the operating system, and the value for unknown. @see https://www.rfc-editor.org/rfc/rfc1952 */
const GZIP_OS = { at: 9, unknown: 255 };

/**
 * Lists the regular files in a folder for an archive.
 * @param prefix folder in the archive, such as "app/", or "" for the top
 * @param include decides by the path in the folder, with slashes. Default: all files.
 */
export async function listFolder(folder: string, prefix: string, include: (path: string) => boolean = () => true): Promise<ArchivedFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files: ArchivedFile[] = [];
  for (const entry of entries.filter((one) => one.isFile())) {
    const location = join(entry.parentPath, entry.name);
    const path = location
      .slice(folder.length + 1)
      .split(sep)
      .join("/");
    if (include(path)) files.push(await getFile(location, `${prefix}${path}`));
  }
  return files;
}

/** Returns one file on disk for an archive. @param path in the archive */
export async function getFile(location: string, path: string, executable = false): Promise<ArchivedFile> {
  return { path, size: (await stat(location)).size, executable, open: () => createReadStream(location) };
}

/** Returns a file for an archive from its content. */
export function createFile(path: string, content: string | Uint8Array, executable = false): ArchivedFile {
  const bytes = Buffer.from(content as string);
  return {
    path,
    size: bytes.byteLength,
    executable,
    // oxlint-disable-next-line require-await -- bytes in the form that a file returns them
    async *open() {
      yield bytes;
    },
  };
}

/** Packs files as a compressed tar archive. The same files always have the same bytes: it contains no time, user or host. */
export async function packFiles(files: readonly ArchivedFile[]): Promise<Buffer> {
  const packed = await promisify(gzip)(await buffer(createTarStream(files)), { level: 6 });
  packed[GZIP_OS.at] = GZIP_OS.unknown;
  return packed;
}
