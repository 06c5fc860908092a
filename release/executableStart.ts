// The main script of the self-contained executable: unpacks the command line into a folder of the user and starts it there, because worker threads
// and the pages of the console must be files. esbuild converts it to a CommonJS script, the only form that Node.js 24 embeds.
import { lstatSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir, tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { getAsset, getAssetKeys, getRawAsset } from "node:sea";

/** Asset with the digest of all others. Its value names the folder. */
const DIGEST = "digest";
const START = "start.cjs";

/** Writes all files into an empty folder. */
function unpackAssets(folder: string): void {
  for (const key of getAssetKeys()) {
    const file = join(folder, key);
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, Buffer.from(getRawAsset(key)), { mode: 0o600 });
  }
}

/**
 * Returns whether the folder is complete. A folder exists only when it is complete, because it is renamed after all files are written.
 * @throws Error if another user owns the folder or can write to it, and so could change the program.
 */
function isUnpacked(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (!found) return false;
  const isOwn = process.getuid === undefined || (found.uid === process.getuid() && (found.mode & 0o022) === 0);
  if (!found.isDirectory() || !isOwn) throw new Error(`cannot use ${folder}: another user owns it or can write to it. Delete it`);
  return true;
}

/** Returns the folder of this version in the user's cache, and unpacks it there once. @throws Error if the cache is not writable. */
function unpackToCache(): string {
  const parent = join(process.env["XDG_CACHE_HOME"] || process.env["LOCALAPPDATA"] || join(homedir(), ".cache"), "olmv1", "programs");
  const folder = join(parent, getAsset(DIGEST, "utf8"));
  if (isUnpacked(folder)) return folder;
  mkdirSync(parent, { recursive: true, mode: 0o700 });
  const unfinished = mkdtempSync(`${folder}-`);
  try {
    unpackAssets(unfinished);
    renameSync(unfinished, folder);
  } catch (err) {
    rmSync(unfinished, { recursive: true, force: true });
    if (!isUnpacked(folder)) throw err; // another process was faster
  }
  return folder;
}

/** Returns a folder that exists until the process exits, for users without a writable home. */
function unpackTemporarily(): string {
  const folder = mkdtempSync(join(tmpdir(), "olmv1-program-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  unpackAssets(folder);
  return folder;
}

function unpack(): string {
  try {
    return unpackToCache();
  } catch (err) {
    const { code } = err as NodeJS.ErrnoException;
    if (code === undefined) throw err;
    return unpackTemporarily();
  }
}

try {
  process.env["OLMV1_CALLED_AS"] = basename(process.argv0, ".exe"); // a link to the executable is kubectl-olmv1 or kubectl_complete-olmv1
  const start = join(unpack(), START);
  createRequire(start)(start);
} catch (err) {
  console.error(`olmv1: cannot start: ${err instanceof Error ? err.message : String(err)}`);
  process.exitCode = 2;
}
