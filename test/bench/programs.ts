import { execFile } from "node:child_process";
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "../..");

/**
 * Measurements run the bundled programs instead of the sources, because removing types costs time and memory that an
 * image does not need.
 * @returns a function that returns the folder of the programs; its first call builds them.
 */
export function buildPrograms(say: (line: string) => void): () => Promise<string> {
  let folder: Promise<string> | undefined;
  const build = async (): Promise<string> => {
    say("bundling the programs");
    const outDir = await mkdtemp(join(tmpdir(), "olmv1-programs-"));
    await run(process.execPath, [join(ROOT, ".ci/build.mjs"), outDir]);
    return outDir;
  };
  return () => (folder ??= build());
}

/** Returns the Node.js options of the image. @throws Error if the Dockerfile sets no NODE_OPTIONS. */
export async function environmentOfImage(): Promise<Record<string, string>> {
  const text = await readFile(join(ROOT, "Dockerfile"), "utf8");
  const found = Object.fromEntries(
    [...text.matchAll(/\b(NODE_OPTIONS|MALLOC_\w+)=(\S+)/g)].map(([, name = "", value = ""]) => [name, value]),
  );
  if (found["NODE_OPTIONS"] === undefined) throw new Error("the Dockerfile sets no NODE_OPTIONS");
  return found;
}
