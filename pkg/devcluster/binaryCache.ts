import { createHash, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, symlink } from "node:fs/promises";
import { arch, homedir, platform } from "node:os";
import { basename, join } from "node:path";
import { type LockOwner, type LockTimes, withDirectoryLock } from "./directoryLock.ts";
import { BUILD_FLAGS } from "./goBuild.ts";

/** The programs of the control plane: names of one binary. */
export const PROGRAMS = ["etcd", "kube-apiserver", "kube-controller-manager", "registry", "kubectl", "helm"] as const;
export type Program = (typeof PROGRAMS)[number];

/** Those that are there for people and tests: a control plane runs without them. */
export const TOOLS = ["kubectl", "helm"] as const satisfies readonly Program[];
export type Tool = (typeof TOOLS)[number];

const BINARY = "controlplane";
/** Ends the name of a folder that is being filled; one that nobody holds the lock for was left by a killed build. */
const UNFINISHED = ".tmp";
const MODULE_FILES = ["go.mod", "go.sum", "main.go", "helm.go"];

/** The user's cache folder for built control planes: XDG_CACHE_HOME, else ~/.cache. */
export function cacheRoot(env: NodeJS.ProcessEnv = process.env): string {
  return join(env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "olmv1", "controlplane");
}

/** Hash of everything but the compiler's release that the binary depends on: module files, flags, platform. */
export async function sourceHash(moduleFolder: string): Promise<string> {
  const hash = createHash("sha256");
  for (const name of MODULE_FILES)
    hash
      .update(`${name}\0`)
      .update(await readFile(join(moduleFolder, name)))
      .update("\0");
  hash.update(JSON.stringify([BUILD_FLAGS, platform(), arch()]));
  return hash.digest("hex").slice(0, 20);
}

/**
 * The folder of a finished build of this source, or undefined. With a compiler, only its release counts; on a machine without one
 * any release does.
 */
export async function cachedBuild(root: string, source: string, compiler: string | undefined): Promise<string | undefined> {
  if (compiler !== undefined) return existsSync(join(root, `${source}-${compiler}`)) ? join(root, `${source}-${compiler}`) : undefined;
  const names = await readdir(root).catch(() => []);
  const found = names.filter((name) => name.startsWith(`${source}-go`) && /^[\w.]+$/.test(name.slice(source.length + 1))).sort();
  return found.length === 0 ? undefined : join(root, found.at(-1)!);
}

/** How `buildInto` compiles and speaks. */
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
 * The folder of this build, made now unless it is there. Two processes never build at once: the second waits and takes what the
 * first made. The folder appears complete or not at all, and has one symbolic link a program.
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
        for (const program of PROGRAMS) await symlink(BINARY, join(temporary, program));
        await rename(temporary, folder);
        return folder;
      } finally {
        await rm(temporary, { recursive: true, force: true });
      }
    },
    times,
  );
}
