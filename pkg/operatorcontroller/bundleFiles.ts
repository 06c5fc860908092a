import { lstat, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { BundleFiles } from "../bundle/types.ts";
import { RetryableError } from "../errors/errors.ts";

/** The folders of a registry+v1 bundle that rendering reads. */
const FOLDERS = ["manifests", "metadata"] as const;
const MAX_FILES = 2_000;
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * The files of an unpacked bundle image by slash path, such as "manifests/csv.yaml"; links and special files are left out.
 * @throws RetryableError Retrying above 2,000 files or 64 MiB.
 */
export async function readBundleFiles(dir: string): Promise<BundleFiles> {
  const files = new Map<string, Uint8Array>();
  let bytes = 0;
  const walk = async (folder: string): Promise<void> => {
    const entries = await readdir(join(dir, folder), { withFileTypes: true }).catch((err: NodeJS.ErrnoException) => {
      if (err.code === "ENOENT") return [];
      throw err;
    });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) await walk(path);
      else if (entry.isFile()) {
        bytes += (await lstat(join(dir, path))).size;
        if (files.size >= MAX_FILES || bytes > MAX_BYTES) {
          throw new RetryableError(
            "Retrying",
            `bundle holds more than ${MAX_FILES} files or ${MAX_BYTES} bytes below manifests/ and metadata/`,
          );
        }
        files.set(path, await readFile(join(dir, path)));
      }
    }
  };
  for (const folder of FOLDERS) await walk(folder);
  return files;
}
