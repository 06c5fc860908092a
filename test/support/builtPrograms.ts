import { execFile } from "node:child_process";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const ROOT = join(import.meta.dirname, "../..");

/** Builds the programs as in an image: they start five times as fast as from source. @returns their folder. */
export async function buildPrograms(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "olmv1-programs-"));
  await promisify(execFile)(process.execPath, [join(ROOT, ".ci/build.mjs"), folder], { cwd: ROOT });
  return folder;
}
