import { once } from "node:events";
import { copyFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startDevCluster } from "../../pkg/devcluster/devCluster.ts";
import { Client } from "../../pkg/kube/client.ts";
import { runMain, UsageError } from "../cases/runMain.ts";
import { buildPrograms } from "../support/builtPrograms.ts";
import { findChromium } from "../support/chromium.ts";
import { ConsoleWorld } from "../support/consoleWorld.ts";
import { GoWorld } from "../support/goOlm/goWorld.ts";
import type { WorldCluster } from "../support/world.ts";
import { ConsoleBrowser } from "./consoleBrowser.ts";
import { RunningConsole } from "./runningConsole.ts";
import { writeScreenshots } from "./screenshots.ts";

/** The folder of the pictures in the documentation. */
const PICTURES = join(import.meta.dirname, "../../docs/images/console");

const USAGE = `usage: node test/console/main.ts world [--canary] [--extensions NUMBER] [--output FOLDER]
       node test/console/main.ts go-world [--account] [--output FOLDER]
       node test/console/main.ts screenshots --world FOLDER [--output FOLDER]

world starts a control plane with all programs, catalogs and extensions in different states. It runs until SIGINT or SIGTERM.
go-world starts a control plane with what the Go implementation leaves on a cluster, without any program.
screenshots writes the pictures of README and docs.

  --account             go-world: the version of the Go implementation that requires ServiceAccounts
  --canary              add a catalog and an extension with hostile texts
  --extensions NUMBER   add extensions that nothing reconciles; stops operator-controller and permission-manager
  --world FOLDER        the output folder of a running world
  --output FOLDER       world, go-world: where to write the administrator's kubeconfig and registries.conf;
                        screenshots: where to write the pictures (default: docs/images/console)`;

/** Runs the command in the arguments. @returns the exit status. */
async function main(args: readonly string[]): Promise<number> {
  const { positionals, values } = parseArguments(args);
  const { world, output = PICTURES } = values;
  const command = positionals.join(" ");
  if (command === "world") await runWorld(values);
  else if (command === "go-world") await runGoWorld(values);
  else if (command === "screenshots" && world !== undefined) await takeScreenshots(world, output);
  else throw new UsageError("expected the command world or go-world, or screenshots with --world");
  return 0;
}

function parseArguments(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        account: { type: "boolean" },
        canary: { type: "boolean" },
        extensions: { type: "string" },
        output: { type: "string" },
        world: { type: "string" },
      },
    });
  } catch (err) {
    throw new UsageError(err instanceof Error ? err.message : String(err));
  }
}

interface WorldArguments {
  readonly account?: boolean;
  readonly canary?: boolean;
  readonly extensions?: string;
  readonly output?: string;
}

async function runWorld({ canary = false, extensions = "0", output }: WorldArguments): Promise<void> {
  if (!/^\d+$/.test(extensions)) throw new UsageError(`--extensions must be a number, not ${extensions}`);
  await runOn((cluster) => ConsoleWorld.start(cluster, { canary, extensions: Number(extensions) }), output);
}

async function runGoWorld({ account = false, output }: WorldArguments): Promise<void> {
  await runOn((cluster) => GoWorld.start(cluster, account ? "account" : "controller"), output);
}

/** The files that a console needs, of a running world. */
type Configuration = Pick<ConsoleWorld, "kubeconfig" | "registriesConf">;

/** Starts a world on a new control plane, and runs it until SIGINT or SIGTERM. */
async function runOn(
  start: (cluster: WorldCluster) => Promise<Configuration & AsyncDisposable>,
  output: string | undefined,
): Promise<void> {
  const stop = Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
  const folder = await mkdtemp(join(tmpdir(), "olmv1-console-"));
  process.env["TMPDIR"] = folder;
  await using resources = new AsyncDisposableStack();
  resources.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  const startedAt = performance.now();
  const [dev, programs] = await Promise.all([startDevCluster({ print: console.error }), buildPrograms()]);
  resources.defer(() => dev.stop());
  const client = Client.fromKubeConfig(dev.kubeconfig);
  resources.defer(() => client.close());
  const cluster = { client, kubeconfig: dev.kubeconfig, registry: { host: dev.registry.host, insecure: true as const }, programs };
  console.error(`control plane runs after ${formatSeconds(startedAt)}`);
  const world = resources.use(await start(cluster));
  console.error(`world is complete after ${formatSeconds(startedAt)}`);
  const { kubeconfig, registriesConf } = output === undefined ? world : await copyConfiguration(world, output);
  console.log(`export KUBECONFIG=${kubeconfig} CONTAINERS_REGISTRIES_CONF=${registriesConf}`);
  console.log(`API server: ${dev.server}`);
  console.log(`registry:   ${dev.registry.host}`);
  console.log(`logs:       ${dev.logs}`);
  await stop;
}

/** Copies the files to paths that stay the same when another world starts. */
async function copyConfiguration(world: Configuration, folder: string): Promise<Configuration> {
  const [kubeconfig, registriesConf] = [join(folder, "kubeconfig"), join(folder, "registries.conf")];
  await mkdir(folder, { recursive: true });
  await copyFile(world.kubeconfig, kubeconfig);
  await copyFile(world.registriesConf, registriesConf);
  return { kubeconfig, registriesConf };
}

async function takeScreenshots(world: string, folder: string): Promise<void> {
  const chromium = findChromium();
  if (chromium === undefined) throw new UsageError("screenshots needs chromium on the PATH, or its path in OLMV1_CHROMIUM");
  const programs = await buildPrograms();
  await using resources = new AsyncDisposableStack();
  resources.defer(() => rm(programs, { recursive: true, force: true }));
  const files = { kubeconfig: join(world, "kubeconfig"), registriesConf: join(world, "registries.conf") };
  const running = resources.use(await RunningConsole.start(programs, files));
  const browser = resources.use(await ConsoleBrowser.signIn(chromium, running));
  await writeScreenshots(browser, folder);
}

function formatSeconds(since: number): string {
  return `${((performance.now() - since) / 1_000).toFixed(1)} s`;
}

await runMain(main, USAGE);
