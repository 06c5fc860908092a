import { execFile } from "node:child_process";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { listCommandLineFiles } from "./commandLineFiles.ts";
import { PROJECT, ROOT } from "./project.ts";

/** The oldest Node.js that runs the programs: docs/adr/0001. */
const OLDEST_NODE = ">=22.19";
const run = promisify(execFile);

/** Parts of package.json that the published package has too. */
interface SourcePackage {
  readonly version: string;
  readonly license: string;
  readonly bin: Readonly<Record<string, string>>;
}

/** Returns the package.json of the published package. It has no dependencies, because the build contains them. */
function buildPackageJson({ version, license, bin }: SourcePackage): object {
  return {
    name: PROJECT.name,
    version,
    description: "Command line of olmv1, Operator Lifecycle Manager v1 for Kubernetes",
    keywords: ["kubernetes", "operators", "olm", "operator-lifecycle-manager", "kubectl-plugin"],
    license,
    homepage: PROJECT.homepage,
    repository: { type: "git", url: `git+${PROJECT.homepage}.git` },
    type: "module",
    engines: { node: OLDEST_NODE },
    bin: Object.fromEntries(Object.keys(bin).map((name) => [name, "olmv1.js"])),
    publishConfig: { access: "public", provenance: true },
  };
}

/** A packed package. */
export interface PackedPackage {
  /** Name of the archive in the output folder, such as "olmv1-1.0.0.tgz". */
  readonly file: string;
  /** Paths in the package. */
  readonly paths: readonly string[];
}

/**
 * Packs the command line as a package for npm. The same build always has the same bytes.
 * @param dist folder of the build
 * @param out existing folder for the archive
 * @param scratch empty folder
 */
export async function packNpmPackage(dist: string, out: string, scratch: string): Promise<PackedPackage> {
  const source = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as SourcePackage;
  for (const { path } of await listCommandLineFiles(dist)) {
    if (path === "package.json") continue;
    await mkdir(join(scratch, path, ".."), { recursive: true });
    await cp(path === "LICENSE" ? join(ROOT, path) : join(dist, path), join(scratch, path));
  }
  await writeFile(join(scratch, "package.json"), `${JSON.stringify(buildPackageJson(source), null, 2)}\n`);
  await cp(join(ROOT, "release/npm-readme.md"), join(scratch, "README.md"));
  const { stdout } = await run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", out], { cwd: scratch });
  const [packed] = JSON.parse(stdout) as { filename: string; files: { path: string }[] }[];
  if (packed === undefined) throw new Error("npm pack printed no package");
  return { file: packed.filename, paths: packed.files.map(({ path }) => path) };
}

/**
 * Installs a packed package without the network and returns the output of a command of it.
 * @param scratch empty folder
 */
export async function runPackedPackage(archive: string, scratch: string, command: readonly string[]): Promise<string> {
  await writeFile(join(scratch, "package.json"), '{ "private": true }\n');
  await run("npm", ["install", "--offline", "--no-audit", "--no-fund", archive], { cwd: scratch });
  const [name = "", ...args] = command;
  return (await run(join(scratch, "node_modules/.bin", name), args, { cwd: scratch })).stdout;
}
