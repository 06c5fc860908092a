import { lstatSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { type IgnoreFile, INDEX_IGNORE, indexIgnore } from "../../fbc/indexIgnore.ts";
import { ContentError } from "../../fbc/types.ts";

/** A file of a catalog. */
export interface CatalogFile {
  /** Below the catalog's root, with slashes. */
  path: string;
  /** On disk, links resolved. */
  location: string;
  bytes: number;
}

/** Limits of one catalog's files. */
export interface FileLimits {
  files: number;
  fileBytes: number;
  totalBytes: number;
}

/** Longest `.indexignore` that is read. */
const MAX_IGNORE_BYTES = 1024 * 1024;
/** Of folders within folders. */
const MAX_LEVELS = 200;

/**
 * The files that make up the catalog at `root`, in lexical order with folders in place: all regular files of any name, without those that an
 * `.indexignore` excludes. Blocking; meant for a worker thread.
 * @throws ContentError for a link that leads outside or to a folder, for what is no regular file, and beyond a limit; Error when `root` cannot be read.
 * @see operator-registry v1.73.0 alpha/declcfg/load.go, walkFiles
 */
export function catalogFiles(root: string, limits: FileLimits): CatalogFile[] {
  const top = realpathSync(root);
  const paths = pathsBelow(top, limits);
  const ignores = indexIgnore(
    paths.filter((path) => path === INDEX_IGNORE || path.endsWith(`/${INDEX_IGNORE}`)).map((path) => ignoreFile(top, path)),
  );
  const files = paths
    .filter((path) => path !== INDEX_IGNORE && !path.endsWith(`/${INDEX_IGNORE}`) && !ignores(path))
    .map((path) => fileAt(top, path, limits));
  const total = files.reduce((sum, file) => sum + file.bytes, 0);
  if (total > limits.totalBytes) throw new Error(`the catalog has ${total} bytes, at most ${limits.totalBytes} are allowed`);
  return files;
}

/** Files and links in lexical order with folders in place. Folders count too: there may be far more of them than files. */
function pathsBelow(top: string, limits: FileLimits): string[] {
  const paths: string[] = [];
  let entries = 0;
  const visit = (dir: string): void => {
    const found = readdirSync(join(top, dir), { withFileTypes: true });
    entries += found.length;
    if (entries > limits.files) throw new Error(`the catalog has more than ${limits.files} files and folders`);
    for (const entry of found.sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)))) {
      const path = dir === "" ? entry.name : `${dir}/${entry.name}`;
      if (path.split("/").length > MAX_LEVELS) throw new Error(`the catalog has folders within folders, more than ${MAX_LEVELS} levels`);
      if (entry.isDirectory()) visit(path);
      else paths.push(path);
    }
  };
  visit("");
  return paths;
}

function ignoreFile(top: string, path: string): IgnoreFile {
  const { location } = fileAt(top, path, { files: 1, fileBytes: MAX_IGNORE_BYTES, totalBytes: MAX_IGNORE_BYTES });
  return { dir: path.slice(0, Math.max(0, path.length - INDEX_IGNORE.length - 1)), text: readFileSync(location, "utf8") };
}

function fileAt(top: string, path: string, limits: FileLimits): CatalogFile {
  const location = lstatSync(join(top, path)).isSymbolicLink() ? linkTarget(top, path) : join(top, path);
  const stat = statSync(location);
  if (stat.isDirectory()) throw new ContentError({ file: path }, "a link to a folder");
  if (!stat.isFile()) throw new ContentError({ file: path }, "neither a file nor a folder");
  if (stat.size > limits.fileBytes) throw new ContentError({ file: path }, `${stat.size} bytes, at most ${limits.fileBytes} are allowed`);
  return { path, location, bytes: stat.size };
}

function linkTarget(top: string, path: string): string {
  let target: string;
  try {
    target = realpathSync(join(top, path));
  } catch (err) {
    throw new ContentError({ file: path }, "a link that leads nowhere", { cause: err });
  }
  if (target !== top && !target.startsWith(top + sep)) throw new ContentError({ file: path }, "a link that leaves the catalog");
  return target;
}
