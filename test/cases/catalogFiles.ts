import { createReadStream, existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { basename, join, posix, relative } from "node:path";
import { buffer } from "node:stream/consumers";
import { createGunzip } from "node:zlib";
import { extract } from "tar-stream";
import { compileIndexIgnore, type IgnoreFile, INDEX_IGNORE } from "../../pkg/fbc/indexIgnore.ts";

/** A file of a catalog: its path in the catalog with slashes, and its bytes. */
export interface CatalogFile {
  path: string;
  bytes: AsyncIterable<Uint8Array>;
}

/**
 * Yields the files of the catalog in `folder`, without those that `.indexignore` files exclude. If the folder is missing, reads the archive
 * `<folder>.tar.gz`. The caller must read each file before it requests the next.
 * @throws Error if neither exists.
 */
export async function* catalogFiles(folder: string): AsyncGenerator<CatalogFile> {
  const archive = `${folder}.tar.gz`;
  const inFolder = existsSync(folder);
  if (!inFolder && !existsSync(archive)) throw new Error(`catalog not found: neither ${folder} nor ${basename(archive)} exists`);
  const files = (): AsyncGenerator<CatalogFile> => (inFolder ? filesIn(folder) : filesInArchive(archive));
  const isIgnored = compileIndexIgnore(await readIgnoreFiles(files()));
  for await (const file of files()) if (basename(file.path) !== INDEX_IGNORE && !isIgnored(file.path)) yield file;
}

async function readIgnoreFiles(files: AsyncIterable<CatalogFile>): Promise<IgnoreFile[]> {
  const found: IgnoreFile[] = [];
  for await (const { path, bytes } of files) {
    if (basename(path) !== INDEX_IGNORE) continue;
    const dir = posix.dirname(path);
    found.push({ dir: dir === "." ? "" : dir, text: (await buffer(bytes)).toString("utf8") });
  }
  return found;
}

async function* filesIn(folder: string): AsyncGenerator<CatalogFile> {
  if ((await stat(folder)).isFile()) {
    yield { path: basename(folder), bytes: lazily(folder) };
    return;
  }
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => !entry.isDirectory()).map((entry) => relative(folder, join(entry.parentPath, entry.name)));
  for (const path of paths.sort()) yield { path, bytes: lazily(join(folder, path)) };
}

/** Opens the file when its bytes are read. */
async function* lazily(path: string): AsyncGenerator<Uint8Array> {
  yield* createReadStream(path) as AsyncIterable<Uint8Array>;
}

async function* filesInArchive(archive: string): AsyncGenerator<CatalogFile> {
  const entries = extract();
  const fail = (err: Error): unknown => entries.destroy(err);
  createReadStream(archive).on("error", fail).pipe(createGunzip()).on("error", fail).pipe(entries);
  for await (const entry of entries) {
    const [, ...below] = entry.header.name.split("/");
    if (entry.header.type === "file") yield { path: below.join("/"), bytes: entry as AsyncIterable<Uint8Array> };
    entry.resume();
  }
}
