import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { extract } from "tar-stream";
import { getErrorMessage, ignoreMissingFile } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import { ImageContentError, RefusedError } from "../imageErrors.ts";
import { formatImagePlace, type LayoutPlace } from "../imagePlace.ts";
import { createTarStream } from "./layerArchive.ts";
import { LayoutStore } from "./layoutStore.ts";

/** The archive entries of a layout; other entries are ignored. */
const MEMBER = /^(?:\.\/)?(oci-layout|index\.json|blobs\/(sha256|sha384|sha512)\/[a-f0-9]{1,128})$/;
/** Magic bytes of gzip, zstd and xz. */
const COMPRESSED = ["1f8b", "28b52ffd", "fd377a585a00"].map((hex) => Buffer.from(hex, "hex"));
/** Maximum number of archive entries. */
const MEMBERS_MAX = 1_000_000;

/**
 * Unpacks the tar archive of an OCI image layout into an empty folder. Unpacks only regular files
 * with names of a layout.
 * @throws RefusedError for an entry with a path outside the archive, and for too many entries;
 * Error if it cannot be read.
 */
export async function unpackLayout(archive: string, dir: string, signal: AbortSignal): Promise<void> {
  const entries = extract();
  const source = createReadStream(archive, { signal });
  source.on("error", (err) => entries.destroy(err));
  source.pipe(entries);
  let members = 0;
  try {
    for await (const entry of entries) {
      if (++members > MEMBERS_MAX) throw new RefusedError(`the archive has more than ${MEMBERS_MAX} entries`);
      if (leadsOut(entry.header.name)) throw new RefusedError(`entry ${goQuote(entry.header.name)} has a path outside the archive`);
      const [, path, algorithm] = entry.header.type === "file" ? (MEMBER.exec(entry.header.name) ?? []) : [];
      if (path === undefined) {
        entry.resume();
        continue;
      }
      if (algorithm !== undefined) await mkdir(join(dir, "blobs", algorithm), { recursive: true });
      await pipeline(entry, createWriteStream(join(dir, path)), { signal });
    }
  } catch (err) {
    signal.throwIfAborted();
    const why = await readingFault(archive, err);
    throw new ImageContentError(`reading ${archive}: ${why}`, { cause: err });
  }
}

async function readingFault(archive: string, err: unknown): Promise<string> {
  if (err instanceof ImageContentError) return err.message;
  const { code } = err as NodeJS.ErrnoException;
  if (code === "ENOENT") return "the file does not exist";
  if (code === "EISDIR") return "it is a folder: use oci:PATH for a layout in a folder";
  return (await isCompressed(archive)) ? "it is compressed: decompress it with gunzip, zstd -d or xz -d first" : getErrorMessage(err);
}

async function isCompressed(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { buffer } = await file.read(Buffer.alloc(6), 0, 6, 0);
    return COMPRESSED.some((magic) => buffer.subarray(0, magic.length).equals(magic));
  } finally {
    await file.close();
  }
}

function leadsOut(name: string): boolean {
  return name.startsWith("/") || name.split("/").includes("..");
}

/**
 * Writes the layout in a folder as a tar archive; the same layout always has the same bytes.
 * Replaces an existing file when the new one is complete.
 */
export async function packLayout(dir: string, archive: string, signal: AbortSignal): Promise<void> {
  const paths = (await readdir(dir, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1));
  const files = [];
  for (const path of paths.filter((one) => MEMBER.test(one)))
    files.push({ path, size: (await stat(join(dir, path))).size, open: () => createReadStream(join(dir, path)) });
  const part = `${archive}.part`;
  await mkdir(dirname(archive), { recursive: true });
  try {
    await pipeline(createTarStream(files), createWriteStream(part), { signal });
    await rename(part, archive);
  } finally {
    await rm(part, { force: true });
  }
}

/**
 * Checks that a new archive replaces no other file. An empty file, such as of mktemp, may be replaced.
 * @throws Error if the path exists and is not the archive of an OCI image layout
 */
export async function requireReplaceable(archive: string): Promise<void> {
  const found = await stat(archive).catch(ignoreMissingFile);
  if (!found) return;
  if (found.isDirectory()) throw new Error(`${archive} is a folder: use oci:${archive} for a layout in a folder`);
  if (found.isFile() && (found.size === 0 || (await isLayoutArchive(archive)))) return;
  throw new Error(`${archive} exists and is not an OCI archive. Use another path, or delete the file`);
}

async function isLayoutArchive(path: string): Promise<boolean> {
  const entries = extract();
  const source = createReadStream(path);
  source.on("error", (err) => entries.destroy(err));
  source.pipe(entries);
  try {
    for await (const entry of entries) {
      if (MEMBER.exec(entry.header.name)?.[1] === "oci-layout") return true;
      entry.resume();
    }
  } catch {
    // not a tar archive
  } finally {
    source.destroy();
  }
  return false;
}

/**
 * Opens a layout for reading.
 * @param scratch creates an empty folder for the content of an archive
 * @throws ImageContentError that describes the problem
 */
export async function openLayout(place: LayoutPlace, scratch: () => Promise<string>, signal: AbortSignal): Promise<LayoutStore> {
  const { kind, path } = place;
  const name = formatImagePlace({ ...place, tag: "" });
  if (kind === "oci") {
    const found = await stat(path).catch(() => undefined);
    if (!found) throw new ImageContentError(`${name}: the folder does not exist`);
    if (!found.isDirectory()) throw new ImageContentError(`${name} is a file: use oci-archive:${path} for a layout in a tar archive`);
    return new LayoutStore(path, name);
  }
  const folder = await scratch();
  await unpackLayout(path, folder, signal);
  return new LayoutStore(folder, name);
}
