import { setTimeout as sleep } from "node:timers/promises";
import { INSTALLED_SERVERS } from "../../pkg/devcluster/installation.ts";
import { BenchCluster } from "../bench/benchCluster.ts";
import { generateCatalog } from "../bench/generatedCatalog.ts";
import { waitUntilQuiet } from "../bench/many/quiet.ts";
import { TinyWorld } from "../bench/many/tinyWorld.ts";
import { readProcessUse } from "../bench/processUse.ts";
import type { World } from "../support/world.ts";
import type { ScaleContext } from "./dimension.ts";

const QUIET_MS = 300_000;
const SETTLE_MS = 60_000;
const SAMPLE_MS = 120_000;
const SMALL_PACKAGES = 10;
const MEDIUM_PACKAGES = 200;
const EXTENSIONS = 5;

/** Measures what the servers use at rest on a small cluster, as a Markdown table. */
export async function measureFootprint(context: ScaleContext): Promise<string> {
  await using cluster = await BenchCluster.start(context);
  await using world = await cluster.startServers();
  const rows = [await measureRest(world, "no catalog, no extension")];
  const tiny = await TinyWorld.start(cluster, world, EXTENSIONS, context.say);
  const serve = async (name: string, packages: number): Promise<void> =>
    world.serve(name, await world.pushCatalog(`scale/${name}`, "v1", generateCatalog(packages).files));
  await serve("small", SMALL_PACKAGES);
  await tiny.install();
  rows.push(
    await measureRest(world, `${EXTENSIONS} extensions, catalogs of ${SMALL_PACKAGES} packages (1.2 MB) and ${EXTENSIONS} small ones`),
  );
  await serve("medium", MEDIUM_PACKAGES);
  rows.push(await measureRest(world, `${EXTENSIONS} extensions, one more catalog of ${MEDIUM_PACKAGES} packages (24 MB)`));
  return [
    "### Footprint at rest",
    "",
    `Resident memory, and CPU in thousandths of a core, over ${SAMPLE_MS / 1_000} s.`,
    "",
    `| cluster | ${INSTALLED_SERVERS.flatMap((name) => [`memory of ${name}`, "CPU"]).join(" | ")} |`,
    `| --- | ${INSTALLED_SERVERS.map(() => "--- | ---").join(" | ")} |`,
    ...rows,
    "",
  ].join("\n");
}

async function measureRest({ installation: { servers } }: World, state: string): Promise<string> {
  const pids = INSTALLED_SERVERS.map((name) => servers[name].pid);
  await waitUntilQuiet(pids, QUIET_MS);
  await sleep(SETTLE_MS);
  const before = await Promise.all(pids.map(readProcessUse));
  await sleep(SAMPLE_MS);
  const after = await Promise.all(pids.map(readProcessUse));
  const cells = after.flatMap(({ rssBytes, cpuSeconds }, i) => {
    const cores = (cpuSeconds - (before[i]?.cpuSeconds ?? 0)) / (SAMPLE_MS / 1_000);
    return [`${Math.round(rssBytes / 1e6)} MB`, `${(cores * 1_000).toFixed(1)}m`];
  });
  return `| ${[state, ...cells].join(" | ")} |`;
}
