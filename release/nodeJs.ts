import { readFileSync } from "node:fs";
import { readFile, realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ROOT } from "./project.ts";

/** File of an archive with the license of the Node.js in its executable. */
export const NODE_LICENSE_FILE = "LICENSE.node";

/** First line of the license of Node.js, which contains those of its parts. */
const LICENSE_START = "Node.js is licensed for use as follows:";

/** Returns the version of Node.js that package.json pins, such as "24.21.0". @throws Error if it pins several versions. */
export function readPinnedNode(): string {
  const { optionalDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    readonly optionalDependencies: Readonly<Record<string, string>>;
  };
  const pinned = Object.entries(optionalDependencies).flatMap(([name, version]) => (name.startsWith("node-") ? [version] : []));
  const [version, ...others] = new Set(pinned);
  if (version === undefined || others.length > 0)
    throw new Error(`package.json pins ${pinned.length === 0 ? "no" : "several"} versions of Node.js`);
  return version;
}

/** @throws Error if another version of Node.js runs this process than package.json pins. */
export function checkNode(running: string, pinned = readPinnedNode()): void {
  if (running !== pinned)
    throw new Error(`Node.js ${running} would become part of the executable. Use Node.js ${pinned}, which package.json pins`);
}

/**
 * Returns the path of the license of an installation of Node.js: one folder above `bin`, or in the folder of the binary on Windows.
 * @throws Error if it does not exist, for example in a package of an operating system.
 */
export async function findNodeLicense(binary: string): Promise<string> {
  const folder = dirname(await realpath(binary));
  const candidates = [join(dirname(folder), "LICENSE"), join(folder, "LICENSE")];
  for (const file of candidates) {
    const text = await readFile(file, "utf8").catch(() => "");
    if (text.startsWith(LICENSE_START)) return file;
  }
  throw new Error(
    `the license of Node.js is missing: ${candidates.join(", ")}. Use an archive of nodejs.org, or the packages of package-lock.json`,
  );
}
