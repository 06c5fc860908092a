import { existsSync } from "node:fs";
import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import {
  buildGoProgram,
  buildInto,
  CONTROL_PLANE_PROGRAMS,
  type ControlPlaneProgram,
  findCachedBuild,
  getCacheRoot,
  hashSources,
  readGoVersion,
  TOOLS,
  type Tool,
} from "./binaryCache.ts";
import { chooseKubernetesVersion, type KubernetesVersion, readKubernetesVersion } from "./kubernetesVersions.ts";

/** One program on disk. */
export interface Binary {
  readonly path: string;
  /** True if this project built the program. Such servers end when their standard input closes. */
  readonly watchesStdin: boolean;
}

/** All programs of a control plane; tools are optional. */
export type Binaries = Readonly<Record<Exclude<ControlPlaneProgram, Tool>, Binary> & Partial<Record<Tool, Binary>>>;

/** Thrown if programs were not found. The message lists the solutions. */
export class NoBinariesError extends Error {
  override readonly name = "NoBinariesError";
}

/** Prints progress. On a terminal, each `transient` line replaces the previous one. */
export type PrintLine = (line: string, transient?: boolean) => void;

const MODULE = join(import.meta.dirname, "controlplane");
const REQUIRED = CONTROL_PLANE_PROGRAMS.filter((program) => !TOOLS.some((tool) => tool === program));

/** Options of the search; all are optional. */
export interface FindOptions {
  /** Environment variables. Default: those of this process. */
  readonly env?: NodeJS.ProcessEnv;
  /**
   * Returns the release of Go on the PATH of an environment, if it is new enough. Default: runs `go
   * version`.
   */
  readonly compilerIn?: typeof readGoVersion;
  /** Builds the programs. Default: `go build`. */
  readonly compile?: typeof buildGoProgram;
  /** The Go module to build. Default: the module next to this file, which only exists in a checkout. */
  readonly moduleFolder?: string;
}

/**
 * Finds the programs of the control plane: in KUBEBUILDER_ASSETS, the cache, PATH, or a new build
 * (5 minutes once, then cached). Programs missing in KUBEBUILDER_ASSETS are taken from the next
 * locations; PATH is used only if it has all missing programs and `KUBERNETES_VERSION` is not set.
 * @throws NoBinariesError if a program is missing and Go is not installed to build it; Error if `KUBERNETES_VERSION` is not supported
 */
export async function findBinaries(print: PrintLine, options: FindOptions = {}): Promise<Binaries> {
  const { env = process.env, compilerIn = readGoVersion, compile = buildGoProgram } = options;
  const version = chooseKubernetesVersion(env);
  const assets = env["KUBEBUILDER_ASSETS"];
  const given = assets ? await findPrograms([assets]) : new FoundBinaries();
  if (isComplete(given)) return asBinaries(given);

  const { moduleFolder = MODULE } = options;
  const root = getCacheRoot(env);
  const source = existsSync(moduleFolder) ? await hashSources(moduleFolder, version) : undefined;
  const compiler = source === undefined ? undefined : await compilerIn(env);
  const cached = source === undefined ? undefined : await findCachedBuild(root, source, compiler);
  if (cached !== undefined) return asBinaries(completePrograms(given, cached));

  // Programs on PATH can have any version.
  const path = readKubernetesVersion(env) === undefined ? (env["PATH"] ?? "") : "";
  const onPath = await findPrograms(path.split(delimiter).filter((folder) => folder !== ""));
  const together = new FoundBinaries([...onPath, ...given]);
  if (isComplete(together)) return asBinaries(together);
  if (source === undefined || compiler === undefined) throw new NoBinariesError(noWay(together, assets, source !== undefined));
  return asBinaries(completePrograms(given, await build({ moduleFolder, version, source, compiler, root, print, compile })));
}

const FoundBinaries = Map<ControlPlaneProgram, Binary>;
type FoundBinaries = Map<ControlPlaneProgram, Binary>;

/** Returns the programs in these folders, which this project did not build. Earlier folders take precedence. */
async function findPrograms(folders: readonly string[]): Promise<FoundBinaries> {
  const found = new FoundBinaries();
  for (const folder of folders) {
    for (const program of CONTROL_PLANE_PROGRAMS) {
      const path = join(folder, program);
      if (!found.has(program) && (await isExecutable(path))) found.set(program, { path, watchesStdin: false });
    }
  }
  return found;
}

/** Returns `given`, with missing programs from the build in `folder`. */
function completePrograms(given: FoundBinaries, folder: string): FoundBinaries {
  const own = CONTROL_PLANE_PROGRAMS.map((program): [ControlPlaneProgram, Binary] => [
    program,
    { path: join(folder, program), watchesStdin: true },
  ]);
  return new FoundBinaries([...own, ...given]);
}

interface Build {
  readonly moduleFolder: string;
  readonly version: KubernetesVersion;
  readonly source: string;
  readonly compiler: string;
  readonly root: string;
  readonly print: PrintLine;
  readonly compile: typeof buildGoProgram;
}

/** Returns the folder of this project's build; builds it unless another process has just built it. */
async function build({ moduleFolder, version, source, compiler, root, print: say, compile }: Build): Promise<string> {
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
      say(`control plane: building etcd, Kubernetes ${version.release} and an image registry with ${compiler}, stored in ${root}`);
      say("control plane: this happens once and takes about 5 minutes on two cores, including downloads");
      let state = "starting";
      const timer = setInterval(() => say(`control plane: ${state} (${elapsed()})`, true), process.stderr.isTTY ? 1000 : 15_000);
      try {
        await compile(moduleFolder, version, output, (next) => {
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

function isComplete(found: FoundBinaries): boolean {
  return REQUIRED.every((program) => found.has(program));
}

function asBinaries(found: FoundBinaries): Binaries {
  const get = (program: ControlPlaneProgram): Binary => {
    const binary = found.get(program);
    if (binary === undefined) throw new NoBinariesError(`the control plane lacks ${program}`);
    return binary;
  };
  const tools = TOOLS.flatMap((tool) => {
    const binary = found.get(tool);
    return binary === undefined ? [] : [[tool, binary] as const];
  });
  return {
    etcd: get("etcd"),
    "kube-apiserver": get("kube-apiserver"),
    "kube-controller-manager": get("kube-controller-manager"),
    registry: get("registry"),
    ...Object.fromEntries(tools),
  };
}

function noWay(found: FoundBinaries, assets: string | undefined, haveSource: boolean): string {
  const missing = REQUIRED.filter((program) => !found.has(program)).join(", ");
  const partly = assets ? ` (KUBEBUILDER_ASSETS=${assets} does not contain all of them)` : "";
  const all = REQUIRED.join(", ");
  const install = haveSource
    ? "install Go 1.26 or newer (https://go.dev/dl): everything is then built once, in about 5 minutes, and cached"
    : "run it from a checkout of the sources, where Go 1.26 or newer builds everything once";
  const reason = haveSource
    ? "Go 1.26 or newer, which can build the control plane, was not found"
    : "this installation has no sources to build the control plane from";
  const ways = [install, `set KUBEBUILDER_ASSETS to a folder with ${all}`, `put ${all} on PATH`];
  return [`${missing} not found${partly}, and ${reason}. Use one of these solutions:`, ...ways.map((way) => `  - ${way}`)].join("\n");
}
