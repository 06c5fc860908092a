import { createReadStream, existsSync, readFileSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { createGunzip } from "node:zlib";
import { extract } from "tar-stream";
import { type IgnoreFile, INDEX_IGNORE, indexIgnore } from "../../pkg/fbc/indexignore.ts";

/** One file of a catalog: its path with slashes, below the catalog's folder, and its bytes. */
export interface CatalogFile {
  path: string;
  bytes: AsyncIterable<Uint8Array>;
}

/**
 * The files that make up the catalog in `folder`, in order of path; where the folder is missing but an archive `<folder>.tar.gz` lies
 * beside it, the archive's. Each file must be read before the next is taken.
 * @throws Error when there is neither.
 */
export async function* catalogFiles(folder: string): AsyncGenerator<CatalogFile> {
  if (existsSync(folder)) {
    const { paths, ignored } = await listed(folder);
    for (const path of paths) if (!ignored(path)) yield { path, bytes: createReadStream(join(folder, path)) };
    return;
  }
  const archive = `${folder}.tar.gz`;
  if (!existsSync(archive)) throw new Error(`there is no catalog at ${folder}, and no archive ${basename(archive)} beside it`);
  const entries = extract();
  createReadStream(archive)
    .on("error", (err) => entries.destroy(err))
    .pipe(createGunzip())
    .on("error", (err) => entries.destroy(err))
    .pipe(entries);
  for await (const entry of entries) {
    const [, ...below] = entry.header.name.split("/");
    if (entry.header.type === "file") yield { path: below.join("/"), bytes: entry as AsyncIterable<Uint8Array> };
    entry.resume();
  }
}

async function listed(folder: string): Promise<{ paths: string[]; ignored: (path: string) => boolean }> {
  if ((await stat(folder)).isFile()) return { paths: [""], ignored: () => false };
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => !entry.isDirectory()).map((entry) => relative(folder, join(entry.parentPath, entry.name)));
  const ignoreFiles: IgnoreFile[] = paths
    .filter((path) => basename(path) === INDEX_IGNORE)
    .map((path) => ({ dir: dirname(path) === "." ? "" : dirname(path), text: readFileSync(join(folder, path), "utf8") }));
  const isIgnored = indexIgnore(ignoreFiles);
  return { paths: paths.sort(), ignored: (path) => basename(path) === INDEX_IGNORE || isIgnored(path) };
}
