import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { BundleFiles } from "../bundle/types.ts";
import { goQuote } from "../golang/quote.ts";
import { findPackageManifests, type PackageFolder } from "./packageManifests.ts";

/** Limits for one folder. The largest real versions have a few hundred files and 7 MB. */
const MAX_FILES = 2_000;
const MAX_BYTES = 64 * 1024 * 1024;
/** Maximum packages in a folder. The largest real collection has about 300. */
const MAX_PACKAGES = 5_000;

/**
 * Finds packages in the package manifest format, by path: the folder itself, or its direct subfolders. Returns none if the folder contains a
 * file-based catalog.
 * @throws Error if a folder cannot be read or exceeds the limits
 */
export async function findPackageFolders(root: string): Promise<Map<string, PackageFolder>> {
  const files = await readFiles(root);
  if (findPackageManifests(files).size > 0) return new Map([[root, await packageFolder(root, files)]]);
  const packages = new Map<string, PackageFolder>();
  for (const name of await listFolders(root)) {
    const path = join(root, name);
    const own = await readFiles(path);
    if (findPackageManifests(own).size > 0) packages.set(path, await packageFolder(path, own));
  }
  return packages;
}

async function packageFolder(path: string, files: BundleFiles): Promise<PackageFolder> {
  const versions = new Map<string, BundleFiles>();
  for (const name of await listFolders(path)) versions.set(name, await readFiles(join(path, name)));
  return { files, versions };
}

async function listFolders(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith(".")).map(({ name }) => name);
  if (names.length > MAX_PACKAGES) throw new Error(`${goQuote(path)} contains more than ${MAX_PACKAGES} folders`);
  return names.sort();
}

/** Reads the files directly in a folder, by name. */
async function readFiles(path: string): Promise<BundleFiles> {
  const files = new Map<string, Uint8Array>();
  let bytes = 0;
  const entries = await readdir(path, { withFileTypes: true });
  for (const { name } of entries.filter((entry) => !entry.isDirectory() && !entry.name.startsWith("."))) {
    const file = await stat(join(path, name));
    if (!file.isFile()) continue;
    bytes += file.size;
    if (files.size >= MAX_FILES || bytes > MAX_BYTES)
      throw new Error(`${goQuote(path)} contains more than ${MAX_FILES} files or ${MAX_BYTES} bytes`);
    files.set(name, await readFile(join(path, name)));
  }
  return files;
}
