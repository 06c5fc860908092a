import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const ROOT = join(import.meta.dirname, "../..");

/** The programs as an image has them, in `folder`: they start three times as fast as from their sources. @returns the folder. */
export async function builtPrograms(folder: string): Promise<string> {
  await promisify(execFile)(process.execPath, [join(ROOT, ".ci/build.mjs"), folder], { cwd: ROOT });
  return folder;
}
