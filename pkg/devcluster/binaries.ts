import { existsSync } from "node:fs";
import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import {
  buildInto,
  CONTROL_PLANE_PROGRAMS,
  type ControlPlaneProgram,
  cachedBuild,
  cacheRoot,
  goBuild,
  goVersion,
  sourceHash,
  TOOLS,
  type Tool,
} from "./binaryCache.ts";

/** One program on disk. */
export interface Binary {
  readonly path: string;
  /** True for our own build, whose servers end when their standard input closes. */
  readonly watchesStdin: boolean;
}

/** Everything a control plane needs; tools may be missing. */
export type Binaries = Readonly<Record<Exclude<ControlPlaneProgram, Tool>, Binary> & Partial<Record<Tool, Binary>>>;

/** No way to get the programs was found; the message lists the ways out. */
export class NoBinariesError extends Error {
  override readonly name = "NoBinariesError";
}

/** Tells a person what goes on; `transient` lines replace one another on a terminal. */
export type Say = (line: string, transient?: boolean) => void;

const MODULE = join(import.meta.dirname, "controlplane");
const REQUIRED = CONTROL_PLANE_PROGRAMS.filter((program) => !TOOLS.some((tool) => tool === program));

/** What the search depends on; everything has a default. */
export interface FindOptions {
  /** Default: the environment of this process. */
  readonly env?: NodeJS.ProcessEnv;
  /** Release of the Go on the PATH of an environment, if it is new enough. Default: asks it. */
  readonly compilerIn?: typeof goVersion;
  /** Default: `go build`. */
  readonly compile?: typeof goBuild;
  /** The Go module to build; default: the one beside this file, which only a checkout has. */
  readonly moduleFolder?: string;
}

/**
 * The programs of the control plane: from KUBEBUILDER_ASSETS, the cache, PATH, or built now (5 minutes once, then cached). A set in
 * KUBEBUILDER_ASSETS that lacks some of them is completed from the next places; PATH counts only when it holds all that is missing.
 * @throws NoBinariesError when something is missing and there is no Go to build it.
 */
export async function findBinaries(say: Say, options: FindOptions = {}): Promise<Binaries> {
  const { env = process.env, compilerIn = goVersion, compile = goBuild } = options;
  const assets = env["KUBEBUILDER_ASSETS"];
  const given = assets ? await programsIn([assets]) : new Found();
  if (isComplete(given)) return asBinaries(given);

  const { moduleFolder = MODULE } = options;
  const root = cacheRoot(env);
  const source = existsSync(moduleFolder) ? await sourceHash(moduleFolder) : undefined;
  const compiler = source === undefined ? undefined : await compilerIn(env);
  const cached = source === undefined ? undefined : await cachedBuild(root, source, compiler);
  if (cached !== undefined) return asBinaries(completed(given, cached));

  const onPath = await programsIn((env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== ""));
  const together = new Found([...onPath, ...given]);
  if (isComplete(together)) return asBinaries(together);
  if (source === undefined || compiler === undefined) throw new NoBinariesError(noWay(together, assets, source !== undefined));
  return asBinaries(completed(given, await build({ moduleFolder, source, compiler, root, say, compile })));
}

const Found = Map<ControlPlaneProgram, Binary>;
type Found = Map<ControlPlaneProgram, Binary>;

/** The programs in these folders, which are not ours; an earlier folder wins. */
async function programsIn(folders: readonly string[]): Promise<Found> {
  const found = new Found();
  for (const folder of folders) {
    for (const program of CONTROL_PLANE_PROGRAMS) {
      const path = join(folder, program);
      if (!found.has(program) && (await isExecutable(path))) found.set(program, { path, watchesStdin: false });
    }
  }
  return found;
}

/** `given`, with what it lacks from our own build in `folder`. */
function completed(given: Found, folder: string): Found {
  const own = CONTROL_PLANE_PROGRAMS.map((program): [ControlPlaneProgram, Binary] => [
    program,
    { path: join(folder, program), watchesStdin: true },
  ]);
  return new Found([...own, ...given]);
}

interface Build {
  readonly moduleFolder: string;
  readonly source: string;
  readonly compiler: string;
  readonly root: string;
  readonly say: Say;
  readonly compile: typeof goBuild;
}

/** The folder of our own build, made now unless somebody else has just made it. */
async function build({ moduleFolder, source, compiler, root, say, compile }: Build): Promise<string> {
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
      say(`control plane: building etcd, Kubernetes and an image registry with ${compiler}, kept in ${root}`);
      say("control plane: this happens once and takes about 5 minutes on two cores, downloads included");
      let state = "starting";
      const timer = setInterval(() => say(`control plane: ${state} (${elapsed()})`, true), process.stderr.isTTY ? 1000 : 15_000);
      try {
        await compile(moduleFolder, output, (next) => {
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

function isComplete(found: Found): boolean {
  return REQUIRED.every((program) => found.has(program));
}

function asBinaries(found: Found): Binaries {
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

function noWay(found: Found, assets: string | undefined, haveSource: boolean): string {
  const missing = REQUIRED.filter((program) => !found.has(program)).join(", ");
  const partly = assets ? ` (KUBEBUILDER_ASSETS=${assets} does not hold all of them)` : "";
  const all = REQUIRED.join(", ");
  const install = haveSource
    ? "install Go 1.26 or newer (https://go.dev/dl): everything is then built once, in about 5 minutes, and kept"
    : "run it from a checkout of the sources, where Go 1.26 or newer builds everything once";
  const reason = haveSource
    ? "no Go 1.26 or newer to build the control plane with"
    : "this installation has no sources to build the control plane from";
  const ways = [install, `set KUBEBUILDER_ASSETS to a folder that holds ${all}`, `put ${all} on PATH`];
  return [`${missing} not found${partly}, and ${reason}. One of these helps:`, ...ways.map((way) => `  - ${way}`)].join("\n");
}
