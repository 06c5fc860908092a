import { lstatSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { compileIndexIgnore, type IgnoreFile, INDEX_IGNORE } from "../../fbc/indexIgnore.ts";
import { ContentError } from "../../fbc/types.ts";
import { compareUtf8 } from "../../text/compare.ts";

/** A file of a catalog. */
export interface CatalogFile {
  /** Relative to the catalog's root, with slashes. */
  path: string;
  /** Absolute path with links resolved. */
  location: string;
  bytes: number;
}

/** Limits for the files of one catalog. */
export interface FileLimits {
  files: number;
  fileBytes: number;
  totalBytes: number;
}

/** Maximum size of an `.indexignore` file. */
const MAX_IGNORE_BYTES = 1024 * 1024;
/** Maximum depth of nested folders. */
const MAX_LEVELS = 200;

/**
 * Returns the files of the catalog at `root`: regular files of any name, except files that an
 * `.indexignore` excludes. The files are in lexical order, with the files of a folder at the
 * position of the folder. Blocking, intended for a worker thread.
 * @throws ContentError for a link to a folder or to a target outside the catalog, for a path that
 * is not a regular file, and if a limit is exceeded; Error if `root` cannot be read.
 * @see operator-registry v1.73.0 alpha/declcfg/load.go, walkFiles
 */
export function findCatalogFiles(root: string, limits: FileLimits): CatalogFile[] {
  const top = realpathSync(root);
  const paths = pathsBelow(top, limits);
  const ignores = compileIndexIgnore(
    paths.filter((path) => path === INDEX_IGNORE || path.endsWith(`/${INDEX_IGNORE}`)).map((path) => ignoreFile(top, path)),
  );
  const files = paths
    .filter((path) => path !== INDEX_IGNORE && !path.endsWith(`/${INDEX_IGNORE}`) && !ignores(path))
    .map((path) => fileAt(top, path, limits));
  const total = files.reduce((sum, file) => sum + file.bytes, 0);
  if (total > limits.totalBytes) throw new Error(`the catalog is too large: ${total} bytes, maximum ${limits.totalBytes}`);
  return files;
}

/**
 * Returns files and links in the order of `findCatalogFiles`. Folders count towards the limit,
 * because a catalog may have far more folders than files.
 */
function pathsBelow(top: string, limits: FileLimits): string[] {
  const paths: string[] = [];
  let entries = 0;
  const visit = (dir: string): void => {
    const found = readdirSync(join(top, dir), { withFileTypes: true });
    entries += found.length;
    if (entries > limits.files) throw new Error(`the catalog has too many files and folders: maximum ${limits.files}`);
    for (const entry of found.sort((a, b) => compareUtf8(a.name, b.name))) {
      const path = dir === "" ? entry.name : `${dir}/${entry.name}`;
      if (path.split("/").length > MAX_LEVELS) throw new Error(`the catalog has too many levels of nested folders: maximum ${MAX_LEVELS}`);
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
  if (stat.isDirectory()) throw new ContentError({ file: path }, "links to folders are not supported");
  if (!stat.isFile()) throw new ContentError({ file: path }, "not a regular file");
  if (stat.size > limits.fileBytes)
    throw new ContentError({ file: path }, `the file is too large: ${stat.size} bytes, maximum ${limits.fileBytes}`);
  return { path, location, bytes: stat.size };
}

function linkTarget(top: string, path: string): string {
  let target: string;
  try {
    target = realpathSync(join(top, path));
  } catch (err) {
    throw new ContentError({ file: path }, "dangling link", { cause: err });
  }
  if (target !== top && !target.startsWith(top + sep)) throw new ContentError({ file: path }, "link to a target outside the catalog");
  return target;
}
