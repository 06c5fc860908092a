import { mkdir, opendir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { ignoreMissingFile } from "../errors/errors.ts";
import type { ExportedFiles } from "./exportedManifests.ts";

/**
 * Checks that writing files to a folder does not replace other content: it does not exist, is empty, or contains only some of these files, because an
 * eject was interrupted after it had written them.
 * @throws Error if it contains another file
 */
export async function requireOwnFolder(folder: string, files: ExportedFiles): Promise<void> {
  const entries = await opendir(folder, { recursive: true }).catch(ignoreMissingFile);
  for await (const entry of entries ?? []) {
    if (entry.isDirectory()) continue;
    const path = join(entry.parentPath, entry.name);
    const text = files.get(relative(folder, path));
    if (text === undefined || (await readFile(path, "utf8")) !== text)
      throw new Error(`${folder} is not empty. Use --output-dir with a new folder`);
  }
}

/** Writes files that only the user can read, because Secrets may be among them. */
export async function writeManifests(folder: string, files: ExportedFiles): Promise<void> {
  for (const [path, text] of files) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text, { mode: 0o600 });
  }
}
