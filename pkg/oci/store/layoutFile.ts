import { constants } from "node:fs";
import { type FileHandle, open, realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import { RefusedError } from "../contentError.ts";

/**
 * Opens a file of a layout to read it. A layout may come from anywhere, so no symlink leads out of its folder, and nothing but a file is read.
 * @param path below the folder, made of names that were checked
 * @returns undefined where there is none
 * @throws RefusedError for what is no file in that folder
 */
export async function openLayoutFile(dir: string, path: string): Promise<FileHandle | undefined> {
  const wanted = join(dir, path);
  const [root, real] = await Promise.all([realpath(dir), realpath(wanted)].map((found) => found.catch(undefinedIfMissing)));
  if (root === undefined || real === undefined) return undefined;
  if (!real.startsWith(root.endsWith(sep) ? root : `${root}${sep}`))
    throw new RefusedError(`${wanted} leads out of its layout: it is a link to ${real}`);
  // Without O_NONBLOCK a named pipe would be waited for.
  const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw new RefusedError(`${wanted} is no file`);
}

/** @throws any other error */
export function undefinedIfMissing(err: unknown): undefined {
  const { code } = err as NodeJS.ErrnoException;
  if (code === "ENOENT" || code === "ENOTDIR") return undefined;
  throw err;
}
