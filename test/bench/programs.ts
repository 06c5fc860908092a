import { execFile } from "node:child_process";
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "../..");

/**
 * What ships is measured, not the sources, which Node has to strip of types first: that takes time and memory that no image spends.
 * @returns a function whose first call builds the programs into a temporary folder; every call gives that folder.
 */
export function bundledPrograms(say: (line: string) => void): () => Promise<string> {
  let folder: Promise<string> | undefined;
  const build = async (): Promise<string> => {
    say("bundling the programs");
    const made = await mkdtemp(join(tmpdir(), "olmv1-programs-"));
    await run(process.execPath, [join(ROOT, ".ci/build.mjs"), made]);
    return made;
  };
  return () => (folder ??= build());
}

/** What decides speed and memory in the environment that the image gives its programs. @throws Error when the Dockerfile sets no NODE_OPTIONS. */
export async function environmentOfImage(): Promise<Record<string, string>> {
  const text = await readFile(join(ROOT, "Dockerfile"), "utf8");
  const found = Object.fromEntries(
    [...text.matchAll(/\b(NODE_OPTIONS|MALLOC_\w+)=(\S+)/g)].map(([, name = "", value = ""]) => [name, value]),
  );
  if (found["NODE_OPTIONS"] === undefined) throw new Error("the Dockerfile sets no NODE_OPTIONS");
  return found;
}
