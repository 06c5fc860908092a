import type { Dirent } from "node:fs";
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { ANNOTATIONS_FILE, listFolders } from "../../bundle/annotations.ts";
import { BUNDLE_LIMITS, createBundleTooLargeError } from "../../bundle/limits.ts";
import type { BundleFiles } from "../../bundle/types.ts";
import { ignoreMissingFile, RetryableError } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import { compareText } from "../../text/compare.ts";
import { truncateExcerpt } from "../../text/truncate.ts";

/**
 * Reads the files in the folders `manifests/` and `metadata/` of an unpacked bundle image, and in other folders that
 * its annotations list. Returns them by path, such as "manifests/csv.yaml". Follows links to files in the image. Skips
 * special files.
 * @throws TerminalError Blocked if the number of files or bytes exceeds `BUNDLE_LIMITS`.
 * @throws RetryableError Retrying for a link that points outside the image or not to a file.
 */
export async function readBundleFiles(dir: string): Promise<BundleFiles> {
  const reader = new FolderReader(await realpath(dir));
  for (const folder of listFolders(undefined)) await reader.read(folder);
  for (const folder of listFolders(reader.files.get(ANNOTATIONS_FILE))) await reader.read(folder);
  return reader.files;
}

class FolderReader {
  readonly files = new Map<string, Uint8Array>();
  readonly #root: string;
  readonly #read: string[] = [];
  #bytes = 0;

  /** @param root path without links. */
  constructor(root: string) {
    this.#root = root;
  }

  /** Reads all files in a folder and its subfolders, if it exists and has not been read yet. */
  async read(folder: string): Promise<void> {
    if (this.#read.some((done) => `${folder}/`.startsWith(`${done}/`))) return;
    this.#read.push(folder);
    // Finds the folder by listing the parent, because a joined path from the bundle could point outside the image.
    let path = "";
    for (const segment of folder.split("/")) {
      const entry = (await this.#entries(path)).find(({ name }) => name === segment);
      if (!entry) return;
      path = path === "" ? entry.name : `${path}/${entry.name}`;
      if (entry.isSymbolicLink()) await this.#target(path);
    }
    if ((await stat(this.#onDisk(path))).isDirectory()) await this.#walk(path);
  }

  async #walk(folder: string): Promise<void> {
    for (const entry of await this.#entries(folder)) {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) await this.#walk(path);
      else if (entry.isFile()) await this.#add(path, this.#onDisk(path));
      else if (entry.isSymbolicLink()) {
        const target = await this.#target(path);
        if (!(await stat(target)).isFile()) throw readError(`${goQuote(truncateExcerpt(path))} is a link that does not point to a file`);
        await this.#add(path, target);
      }
    }
  }

  async #add(path: string, onDisk: string): Promise<void> {
    this.#bytes += (await stat(onDisk)).size;
    const { files, bytes } = BUNDLE_LIMITS;
    if (this.files.size >= files || this.#bytes > bytes)
      throw createBundleTooLargeError(`its manifest and metadata folders contain more than ${files} files or ${bytes} bytes`);
    this.files.set(path, await readFile(onDisk));
  }

  /** Returns the path on disk that a link points to. */
  async #target(path: string): Promise<string> {
    const target = await realpath(this.#onDisk(path)).catch((err: NodeJS.ErrnoException) => {
      if (err.code === "ENOENT" || err.code === "ELOOP" || err.code === "ENOTDIR") return undefined;
      throw err;
    });
    if (target === undefined) throw readError(`${goQuote(truncateExcerpt(path))} is a link that does not point to a file`);
    if (!target.startsWith(`${this.#root}${sep}`))
      throw readError(`${goQuote(truncateExcerpt(path))} is a link that points outside the bundle image`);
    return target;
  }

  async #entries(folder: string): Promise<Dirent[]> {
    const entries = await readdir(this.#onDisk(folder), { withFileTypes: true }).catch(ignoreMissingFile);
    return (entries ?? []).sort((a, b) => compareText(a.name, b.name));
  }

  #onDisk(path: string): string {
    return join(this.#root, path);
  }
}

function readError(message: string): RetryableError {
  return new RetryableError("Retrying", message);
}
