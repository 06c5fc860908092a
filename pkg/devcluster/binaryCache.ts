import { type ChildProcess, execFile, spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { arch, homedir, hostname, platform } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { KubernetesVersion } from "./kubernetesVersions.ts";
import { buildGuardCommand } from "./processes.ts";

/** The holder of a lock, from its `owner.json`. */
interface LockOwner {
  readonly pid: number;
  readonly host: string;
  /** Unique token for each acquisition. */
  readonly token: string;
}

/** Times of a lock, in milliseconds; the defaults are for work of seconds to minutes. */
export interface LockTimes {
  /** Interval of checks by a waiting process. */
  readonly pollMs: number;
  /** Interval of the holder's heartbeats. */
  readonly heartbeatMs: number;
  /** A holder without a heartbeat for this long counts as dead, regardless of its process id. */
  readonly staleMs: number;
}

const LOCK_TIMES: LockTimes = { pollMs: 250, heartbeatMs: 2000, staleMs: 30_000 };

/**
 * Runs `work` while holding the lock `path`, a folder that exists while the lock is held. Waits for
 * a living holder. Takes over the lock of a killed holder: immediately if its process id no longer
 * exists on this machine, otherwise after `staleMs`.
 * @param waiting called once if another process holds the lock.
 */
export async function withDirectoryLock<T>(
  path: string,
  waiting: (owner: LockOwner | undefined) => void,
  work: () => Promise<T>,
  times = LOCK_TIMES,
): Promise<T> {
  const mine: LockOwner = { pid: process.pid, host: hostname(), token: randomUUID() };
  let reported = false;
  while (!(await takeLock(path, mine))) {
    const owner = await readOwner(path);
    if (await isDead(path, owner, times.staleMs)) {
      await removeLock(path, owner);
      continue;
    }
    if (!reported) waiting(owner);
    reported = true;
    await sleep(times.pollMs);
  }
  const heartbeat = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => undefined);
  }, times.heartbeatMs);
  try {
    return await work();
  } finally {
    clearInterval(heartbeat);
    if ((await readOwner(path))?.token === mine.token) await removeLock(path, mine);
  }
}

/**
 * Returns true if this process now holds the lock. The folder and its owner file appear atomically,
 * by renaming a prepared folder.
 */
async function takeLock(path: string, owner: LockOwner): Promise<boolean> {
  const prepared = `${path}.${owner.token}`;
  await mkdir(prepared, { recursive: true });
  await writeFile(join(prepared, "owner.json"), JSON.stringify(owner));
  try {
    await rename(prepared, path);
    return true;
  } catch (err) {
    await rm(prepared, { recursive: true, force: true });
    if (isCode(err, "ENOTEMPTY") || isCode(err, "EEXIST")) return false;
    throw err;
  }
}

async function readOwner(path: string): Promise<LockOwner | undefined> {
  const text = await readFile(join(path, "owner.json"), "utf8").catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as LockOwner);
}

async function isDead(path: string, owner: LockOwner | undefined, staleMs: number): Promise<boolean> {
  const info = await stat(path).catch(() => undefined);
  if (info === undefined) return false;
  if (Date.now() - info.mtimeMs > staleMs) return true;
  return owner !== undefined && owner.host === hostname() && !isAlive(owner.pid);
}

/**
 * Removes the lock if `owner` still holds it. Renames the folder first, and renames it back if it belongs to another holder, because two processes
 * may find the same dead holder.
 */
async function removeLock(path: string, owner: LockOwner | undefined): Promise<void> {
  const aside = `${path}.${randomUUID()}.old`;
  try {
    await rename(path, aside);
  } catch (err) {
    if (isCode(err, "ENOENT")) return;
    throw err;
  }
  if ((await readOwner(aside))?.token !== owner?.token) await rename(aside, path).catch(() => undefined);
  await rm(aside, { recursive: true, force: true });
}

/** Returns true if a process with this id exists on this machine, for any user. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (err) {
    return isCode(err, "EPERM");
  }
}

function isCode(err: unknown, code: string): boolean {
  return err instanceof Error && "code" in err && err.code === code;
}

/** Receives readable progress of a build, for example "compiled 412 of 1903 packages". */
export type BuildProgress = (state: string) => void;

/** Flags for all Go programs of this project, so that they share compiled packages. Debug information costs a tenth of the time and is not used. */
export const GO_COMPILE_FLAGS: readonly string[] = ["-trimpath", "-gcflags=all=-dwarf=false"];
const OLDEST_GO = [1, 26] as const;
const ERROR_TAIL_LINES = 15;

/** Returns the build flags of a version. They are part of the cache key, because other flags produce another binary. */
function getBuildFlags({ release, flags }: KubernetesVersion): string[] {
  const [major, minor] = release.slice(1).split(".");
  const versions = { gitVersion: release, gitMajor: major, gitMinor: minor };
  const variables = Object.entries(versions).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`);
  return [...GO_COMPILE_FLAGS, "-mod=readonly", "-buildvcs=false", ...flags, "-ldflags", ["-s -w", ...variables].join(" ")];
}

/**
 * Returns the release of `go` on the PATH of `env`, for example "go1.26.8"; undefined if it is
 * missing or older than 1.26.
 */
export async function readGoVersion(env: NodeJS.ProcessEnv = process.env): Promise<string | undefined> {
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
 * Compiles the Go module in `folder` with a version of Kubernetes to the file `output`. Without a cache it takes 5 minutes on two cores, including
 * 690 MB of downloads. The compiler is ended when this process ends.
 * @throws Error with the end of the compiler's output.
 */
export async function buildGoProgram(folder: string, version: KubernetesVersion, output: string, progress: BuildProgress): Promise<void> {
  const moduleFlag = `-modfile=${version.moduleFile}`;
  let downloaded = 0;
  let packages = 0;
  progress("looking for Go modules");
  await go(folder, ["list", moduleFlag, "-mod=readonly", ...version.flags, "-deps", "."], (line, stream) => {
    if (stream === "stdout") packages++;
    else if (line.startsWith("go: downloading")) progress(`downloaded ${++downloaded} Go modules`);
  });
  let compiled = 0;
  progress(`compiling ${packages} Go packages`);
  await go(folder, ["build", "-v", moduleFlag, ...getBuildFlags(version), "-o", output, "."], (line, stream) => {
    if (stream === "stderr" && /^[\w.-]+(\/\S+)*$/.test(line)) progress(`compiled ${++compiled} of ${packages} Go packages`);
  });
}

async function go(folder: string, args: string[], onLine: (line: string, stream: "stdout" | "stderr") => void): Promise<void> {
  const [command, commandArgs] = buildGuardCommand("go", args);
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
  const end = await waitForExit(child);
  if (end !== undefined) throw new Error(`go ${args[0]} in ${folder} ${end}:\n  ${tail.join("\n  ")}`);
}

function waitForExit(child: ChildProcess): Promise<string | undefined> {
  return new Promise((resolve) => {
    child.once("error", (err) => resolve(`cannot be started: ${err.message}`));
    child.once("close", (code, signal) => resolve(code === 0 ? undefined : `ended with ${signal ?? `code ${code}`}`));
  });
}

/** Environment that disables Go workspaces and other target platforms, which would change the binary. */
function goEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { GOOS: _os, GOARCH: _arch, ...rest } = env;
  return { ...rest, GOWORK: "off" };
}

/** The programs of the control plane. All are links to the same binary. */
export const CONTROL_PLANE_PROGRAMS = ["etcd", "kube-apiserver", "kube-controller-manager", "registry", "kubectl", "helm"] as const;
export type ControlPlaneProgram = (typeof CONTROL_PLANE_PROGRAMS)[number];

/** Additional programs for users and tests. A control plane runs without them. */
export const TOOLS = ["kubectl", "helm"] as const satisfies readonly ControlPlaneProgram[];
export type Tool = (typeof TOOLS)[number];

const BINARY = "controlplane";
/** Suffix of an unfinished folder. If no process holds the lock, the folder is left over from a killed build. */
const UNFINISHED = ".tmp";
/** The Go files, which all versions share. */
const GO_FILES = ["main.go", "helm.go"];

/** Returns the user's cache folder for built control planes: XDG_CACHE_HOME, else ~/.cache. */
export function getCacheRoot(env: NodeJS.ProcessEnv = process.env): string {
  return join(env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "olmv1", "controlplane");
}

/**
 * Returns the hash of all inputs of the binary of a version except the compiler's release: module
 * files, flags, platform.
 */
export async function hashSources(moduleFolder: string, version: KubernetesVersion): Promise<string> {
  const { moduleFile } = version;
  const hash = createHash("sha256");
  for (const name of [moduleFile, moduleFile.replace(/\.mod$/, ".sum"), ...GO_FILES])
    hash
      .update(`${name}\0`)
      .update(await readFile(join(moduleFolder, name)))
      .update("\0");
  hash.update(JSON.stringify([getBuildFlags(version), platform(), arch()]));
  return hash.digest("hex").slice(0, 20);
}

/**
 * Returns the folder of a finished build of this source, or undefined. With a compiler, only uses builds by the same release; without a compiler,
 * builds by any release.
 */
export async function findCachedBuild(root: string, source: string, compiler: string | undefined): Promise<string | undefined> {
  if (compiler !== undefined) return existsSync(join(root, `${source}-${compiler}`)) ? join(root, `${source}-${compiler}`) : undefined;
  const names = await readdir(root).catch(() => []);
  const found = names.filter((name) => name.startsWith(`${source}-go`) && /^[\w.]+$/.test(name.slice(source.length + 1))).sort();
  return found.length === 0 ? undefined : join(root, found.at(-1)!);
}

/** Options of `buildInto`. */
export interface BuildInto {
  readonly root: string;
  readonly source: string;
  readonly compiler: string;
  /** Writes the binary to the file `output`. */
  readonly build: (output: string) => Promise<void>;
  readonly waiting: (owner: LockOwner | undefined) => void;
  readonly times?: LockTimes;
}

/**
 * Returns the folder of this build; builds it if it does not exist. Two processes never build
 * concurrently: the second one waits and uses the result of the first. The folder appears
 * atomically, with one symbolic link per program.
 */
export async function buildInto({ root, source, compiler, build, waiting, times }: BuildInto): Promise<string> {
  const folder = join(root, `${source}-${compiler}`);
  await mkdir(root, { recursive: true });
  return withDirectoryLock(
    `${folder}.lock`,
    waiting,
    async () => {
      if (existsSync(folder)) return folder;
      for (const name of await readdir(root))
        if (name.startsWith(`${basename(folder)}.`) && name.endsWith(UNFINISHED)) await rm(join(root, name), { recursive: true });
      const temporary = `${folder}.${randomUUID()}${UNFINISHED}`;
      try {
        await mkdir(temporary);
        await build(join(temporary, BINARY));
        for (const program of CONTROL_PLANE_PROGRAMS) await symlink(BINARY, join(temporary, program));
        await rename(temporary, folder);
        return folder;
      } finally {
        await rm(temporary, { recursive: true, force: true });
      }
    },
    times,
  );
}
