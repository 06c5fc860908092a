import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { inject } from "postject";
import { compareText } from "../pkg/text/compare.ts";
import { listCommandLineFiles } from "./commandLineFiles.ts";
import { checkNode } from "./nodeJs.ts";
import { ROOT } from "./project.ts";

/** The mark in the binary of Node.js that an injection changes. @see https://nodejs.org/docs/latest-v24.x/api/single-executable-applications.html */
const FUSE = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";
const SECTION = "NODE_SEA_BLOB";
/** Starts the command line from a file, where `import` is allowed. */
const START = 'import("./olmv1.js");\n';

const run = promisify(execFile);

/** Operating system and processor as releases name them. */
export interface Platform {
  readonly os: "linux" | "darwin" | "windows";
  readonly arch: "amd64" | "arm64";
}

/** Returns the platform of this process. @throws Error if releases have no executable for it. */
export function getPlatform(): Platform {
  const os = ({ linux: "linux", darwin: "darwin", win32: "windows" } as const)[process.platform as string];
  const arch = ({ x64: "amd64", arm64: "arm64" } as const)[process.arch as string];
  if (os === undefined || arch === undefined) throw new Error(`releases have no executable for ${process.platform} ${process.arch}`);
  return { os, arch };
}

/**
 * Builds the self-contained executable of the command line for the platform of this process: the binary of Node.js that runs this process, with the files
 * of the command line. The same Node.js and build always have the same bytes, except on macOS, where the signature has a time.
 * @param dist folder of the build
 * @param file to write
 * @throws Error if package.json pins another Node.js than the one that runs this process.
 */
export async function buildExecutable(dist: string, file: string): Promise<void> {
  checkNode(process.versions.node);
  const scratch = await mkdtemp(join(tmpdir(), "olmv1-executable-"));
  try {
    const assets = await writeAssets(dist, scratch);
    const main = join(scratch, "main.cjs");
    const entry = join(ROOT, "release/executableStart.ts");
    await build({
      entryPoints: [entry],
      outfile: main,
      bundle: true,
      platform: "node",
      target: "node24",
      format: "cjs",
      logLevel: "warning",
    });
    // The blob contains the path of the main script, so the path must not depend on the folder.
    const settings = {
      main: basename(main),
      output: join(scratch, "blob"),
      disableExperimentalSEAWarning: true,
      useCodeCache: false,
      assets,
    };
    await writeFile(join(scratch, "settings.json"), JSON.stringify(settings));
    await run(process.execPath, ["--experimental-sea-config", join(scratch, "settings.json")], { cwd: scratch });
    await mkdir(dirname(file), { recursive: true });
    await copyFile(process.execPath, file);
    await chmod(file, 0o755);
    const isMac = process.platform === "darwin";
    if (isMac) await run("codesign", ["--remove-signature", file]);
    const blob = await readFile(settings.output);
    await withoutWarnings(() => inject(file, SECTION, blob, { sentinelFuse: FUSE, ...(isMac ? { machoSegmentName: "NODE_SEA" } : {}) }));
    if (isMac) await run("codesign", ["--sign", "-", file]);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Returns the embedded files by their path. */
async function writeAssets(dist: string, scratch: string): Promise<Record<string, string>> {
  const files = (await listCommandLineFiles(dist)).filter(({ path }) => !path.startsWith("man/"));
  const hash = createHash("sha256").update(START);
  const assets: Record<string, string> = {};
  for (const file of files.toSorted((a, b) => compareText(a.path, b.path))) {
    const { path } = file;
    hash.update(`${path}\0`);
    for await (const chunk of file.open()) hash.update(chunk);
    assets[path] = path === "LICENSE" ? join(ROOT, path) : join(dist, path);
  }
  for (const [path, text] of [
    ["start.cjs", START],
    ["digest", hash.digest("hex")],
  ] as const) {
    assets[path] = join(scratch, path);
    await writeFile(join(scratch, path), text);
  }
  return assets;
}

/** postject's parser prints warnings about sections of Node.js's binary that it does not change. */
async function withoutWarnings(work: () => Promise<void>): Promise<void> {
  const { warn, error } = console;
  Object.assign(console, { warn: () => undefined, error: () => undefined });
  try {
    await work();
  } finally {
    Object.assign(console, { warn, error });
  }
}
