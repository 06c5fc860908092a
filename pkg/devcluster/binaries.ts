import { existsSync } from "node:fs";
import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { buildInto, cachedBuild, cacheRoot, PROGRAMS, type Program, sourceHash } from "./binaryCache.ts";
import { BUILD_FLAGS, goBuild, goVersion } from "./goBuild.ts";

/** One program on disk. */
export interface Binary {
  readonly path: string;
  /** True for our own build, whose servers end when their standard input closes. */
  readonly watchesStdin: boolean;
}

/** Everything a control plane needs; kubectl is there for people and may be missing. */
export type Binaries = Readonly<Record<Exclude<Program, "kubectl">, Binary>> & { readonly kubectl?: Binary };

/** No way to get the programs was found; the message lists the ways out. */
export class NoBinariesError extends Error {
  override readonly name = "NoBinariesError";
}

/** Tells a person what goes on; `transient` lines replace one another on a terminal. */
export type Say = (line: string, transient?: boolean) => void;

const MODULE = join(import.meta.dirname, "controlplane");
const REQUIRED = PROGRAMS.filter((program) => program !== "kubectl");

/**
 * The programs of the control plane: from KUBEBUILDER_ASSETS, the cache, PATH, or built now (5 minutes once, then cached). A set in
 * KUBEBUILDER_ASSETS that lacks some of them is completed from the next places; PATH counts only when it holds all that is missing.
 * @throws NoBinariesError when something is missing and there is no Go to build it.
 */
export async function findBinaries(say: Say, env: NodeJS.ProcessEnv = process.env): Promise<Binaries> {
  const found = new Map<Program, Binary>();
  const add = async (folder: string, watchesStdin: boolean): Promise<void> => {
    for (const program of PROGRAMS) {
      const path = join(folder, program);
      if (!found.has(program) && (await isExecutable(path))) found.set(program, { path, watchesStdin });
    }
  };
  const assets = env["KUBEBUILDER_ASSETS"];
  if (assets) await add(assets, false);
  if (isComplete(found)) return asBinaries(found);

  const [source, compiler] = [await sourceHash(MODULE), await goVersion()];
  const cached = await cachedBuild(cacheRoot(env), source, compiler);
  if (cached !== undefined) {
    await add(cached, true);
    return asBinaries(found);
  }

  const before = new Map(found);
  for (const folder of (env["PATH"] ?? "").split(delimiter)) if (folder) await add(folder, false);
  if (isComplete(found)) return asBinaries(found);
  const missing = REQUIRED.filter((program) => !found.has(program));
  if (compiler === undefined) throw new NoBinariesError(noWay(missing, assets));

  found.clear();
  for (const [program, binary] of before) found.set(program, binary);
  await add(await build(source, compiler, cacheRoot(env), say), true);
  return asBinaries(found);
}

/** The folder of our own build, made now unless it is cached. */
async function build(source: string, compiler: string, root: string, say: Say): Promise<string> {
  const started = performance.now();
  const elapsed = (): string => {
    const seconds = Math.round((performance.now() - started) / 1000);
    return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  };
  return buildInto({
    root,
    source,
    compiler,
    waiting: (owner) => say(`control plane: ${owner ? `process ${owner.pid}` : "another process"} is building it; waiting`),
    build: async (output) => {
      say(`control plane: building etcd, Kubernetes and an image registry with ${compiler}; once, about 5 minutes on two cores`);
      say(`control plane: go build ${BUILD_FLAGS[0]} … in ${MODULE}, kept in ${root}`);
      let state = "starting";
      const show = (): void => say(`control plane: ${state} (${elapsed()})`, true);
      const timer = setInterval(show, process.stdout.isTTY ? 1000 : 15_000);
      try {
        await goBuild(MODULE, output, (next) => {
          state = next;
        });
      } finally {
        clearInterval(timer);
      }
      say(`control plane: built in ${elapsed()}`);
    },
  });
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => existsSync(path),
    () => false,
  );
}

function isComplete(found: ReadonlyMap<Program, Binary>): boolean {
  return REQUIRED.every((program) => found.has(program));
}

function asBinaries(found: ReadonlyMap<Program, Binary>): Binaries {
  const get = (program: Program): Binary => {
    const binary = found.get(program);
    if (binary === undefined) throw new NoBinariesError(`the control plane lacks ${program}`);
    return binary;
  };
  const kubectl = found.get("kubectl");
  return {
    etcd: get("etcd"),
    "kube-apiserver": get("kube-apiserver"),
    "kube-controller-manager": get("kube-controller-manager"),
    registry: get("registry"),
    ...(kubectl === undefined ? {} : { kubectl }),
  };
}

function noWay(missing: readonly string[], assets: string | undefined): string {
  return [
    `no ${missing.join(", ")} found${assets ? ` (KUBEBUILDER_ASSETS=${assets} holds not all of them)` : ""}, and no Go to build them. One of these helps:`,
    "  - install Go 1.26 or newer (https://go.dev/dl): they are then built once, in about 5 minutes, and kept",
    `  - set KUBEBUILDER_ASSETS to a folder that holds ${REQUIRED.join(", ")}`,
    `  - put ${REQUIRED.join(", ")} on PATH`,
  ].join("\n");
}
