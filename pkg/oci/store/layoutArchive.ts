import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { extract } from "tar-stream";
import { messageOf } from "../../errors/errors.ts";
import { tarStream } from "../layerArchive.ts";

/** The members of a layout; others of an archive mean nothing. */
const MEMBER = /^(?:\.\/)?(oci-layout|index\.json|blobs\/(sha256|sha384|sha512)\/[a-f0-9]+)$/;

/**
 * Unpacks the tar archive of an OCI image layout into an empty folder.
 * @throws Error where it cannot be read.
 */
export async function unpackLayout(archive: string, dir: string, signal: AbortSignal): Promise<void> {
  const entries = extract();
  const source = createReadStream(archive, { signal });
  source.on("error", (err) => entries.destroy(err));
  source.pipe(entries);
  try {
    for await (const entry of entries) {
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
    throw new Error(`reading ${archive}: ${messageOf(err)}`, { cause: err });
  }
}

/** Writes the layout in a folder as a tar archive; the same layout gives the same bytes. A file that is there is replaced when the new one is whole. */
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
    await pipeline(tarStream(files), createWriteStream(part), { signal });
    await rename(part, archive);
  } finally {
    await rm(part, { force: true });
  }
}
