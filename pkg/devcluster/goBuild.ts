import { type ChildProcess, execFile, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { guarded } from "./stdinGuard.ts";

/** Where a running build stands, for people to read, for example "compiled 412 of 1903 packages". */
export type BuildProgress = (state: string) => void;

const VERSION = "v1.36.3";
/** Part of the cache key: another flag is another binary. */
export const BUILD_FLAGS: readonly string[] = [
  "-trimpath",
  "-mod=readonly",
  "-buildvcs=false",
  "-ldflags",
  `-s -w -X k8s.io/component-base/version.gitVersion=${VERSION} -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36`,
];
const OLDEST_GO = [1, 26] as const;
const ERROR_TAIL_LINES = 15;

/** Release of the `go` on the PATH of `env`, for example "go1.26.8"; undefined when there is none or it is older than 1.26. */
export async function goVersion(env: NodeJS.ProcessEnv = process.env): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)("go", ["env", "GOVERSION"], { env: goEnvironment(env) });
    const version = stdout.trim();
    const [, major, minor] = /^go(\d+)\.(\d+)/.exec(version) ?? [];
    const enough = Number(major) > OLDEST_GO[0] || (Number(major) === OLDEST_GO[0] && Number(minor) >= OLDEST_GO[1]);
    return enough ? version : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Compiles the Go module in `folder` to the file `output`. Cold: 5 minutes on two cores, 690 MB of downloads included.
 * The compiler ends with this process, however that one ends.
 * @throws Error with the end of the compiler's output.
 */
export async function goBuild(folder: string, output: string, progress: BuildProgress): Promise<void> {
  let downloaded = 0;
  let packages = 0;
  progress("looking for Go modules");
  await go(folder, ["list", "-mod=readonly", "-deps", "."], (line, stream) => {
    if (stream === "stdout") packages++;
    else if (line.startsWith("go: downloading")) progress(`downloaded ${++downloaded} Go modules`);
  });
  let compiled = 0;
  progress(`compiling ${packages} Go packages`);
  await go(folder, ["build", "-v", ...BUILD_FLAGS, "-o", output, "."], (line, stream) => {
    if (stream === "stderr" && /^[\w.-]+(\/\S+)*$/.test(line)) progress(`compiled ${++compiled} of ${packages} Go packages`);
  });
}

async function go(folder: string, args: string[], onLine: (line: string, stream: "stdout" | "stderr") => void): Promise<void> {
  const [command, commandArgs] = guarded("go", args);
  const child = spawn(command, commandArgs, { cwd: folder, env: goEnvironment(process.env), stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.on("error", () => undefined);
  const tail: string[] = [];
  for (const stream of ["stdout", "stderr"] as const) {
    createInterface({ input: child[stream] }).on("line", (line) => {
      onLine(line, stream);
      if (stream === "stderr") tail.push(line);
      if (tail.length > ERROR_TAIL_LINES) tail.shift();
    });
  }
  const end = await ended(child);
  if (end !== undefined) throw new Error(`go ${args[0]} in ${folder} ${end}:\n  ${tail.join("\n  ")}`);
}

function ended(child: ChildProcess): Promise<string | undefined> {
  return new Promise((resolve) => {
    child.once("error", (err) => resolve(`could not be started: ${err.message}`));
    child.once("close", (code, signal) => resolve(code === 0 ? undefined : `ended with ${signal ?? `code ${code}`}`));
  });
}

/** A workspace around the checkout or another target platform would give another binary. */
function goEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { GOOS: _os, GOARCH: _arch, ...rest } = env;
  return { ...rest, GOWORK: "off" };
}
