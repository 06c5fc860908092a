import type { World } from "../../support/world.ts";
import { BenchCluster } from "../benchCluster.ts";
import { type CatalogChange, changeCatalog } from "../many/catalogChange.ts";
import { waitUntilQuiet } from "../many/quiet.ts";
import { TinyWorld } from "../many/tinyWorld.ts";
import type { Figure, Measurement } from "../measurement.ts";
import { type ProcessUse, readProcessUse } from "../processUse.ts";

const EXTENSIONS = 100;
const CHANGES = 3;
const QUIET_TIMEOUT_MS = 120_000;

/**
 * Installs many small extensions concurrently, each with its own namespace and ServiceAccount; then changes their
 * catalog, but none of their packages.
 */
export const manyMeasurement: Measurement = {
  name: "many-extensions",
  title: "100 small extensions (--extensions) applied at once; then catalog changes, each until the servers are idle",
  figures: ["many.time", "many.cpu", "many.memory", "many.quiet", "many.quiet-cpu"],
  async *run(context) {
    await using cluster = await BenchCluster.start(context);
    await using world = await cluster.startServers();
    const tiny = await TinyWorld.start(cluster, world, context.extensions ?? EXTENSIONS, context.say);
    yield* installAll(tiny, world, context.say);
    yield* changes(tiny, cluster, world, context.runs ?? CHANGES, context.say);
  },
};

async function* installAll(tiny: TinyWorld, world: World, say: (line: string) => void): AsyncGenerator<Figure> {
  const before = await measureController(world);
  const seconds = await tiny.install();
  const after = await measureController(world);
  say(`${tiny.packages.length} extensions installed in ${seconds.toFixed(1)} s`);
  const note = `${tiny.packages.length} extensions of 7 objects, each with its own namespace and ServiceAccount; none has a CRD`;
  yield { id: "many.time", samples: [seconds], note };
  yield { id: "many.cpu", samples: [after.cpuSeconds - before.cpuSeconds] };
  yield {
    id: "many.memory",
    samples: [after.rssBytes],
    note: `1 catalog; peak ${Math.round(after.peakRssBytes / 1e6)} MB, before the first extension ${Math.round(before.rssBytes / 1e6)} MB`,
  };
}

async function* changes(
  tiny: TinyWorld,
  cluster: BenchCluster,
  world: World,
  runs: number,
  say: (line: string) => void,
): AsyncGenerator<Figure> {
  const { catalogd, "operator-controller": controller } = world.installation.servers;
  say("waiting until the servers are idle");
  await waitUntilQuiet([controller.pid, catalogd.pid], QUIET_TIMEOUT_MS);
  const changes: CatalogChange[] = [];
  for (let edition = 1; edition <= runs; edition++) {
    const change = await changeCatalog(tiny, cluster, world, edition);
    changes.push(change);
    say(`change ${edition} of ${runs}: idle after ${change.seconds.toFixed(2)} s, ${change.requests.length} requests to the API server`);
  }
  const note = `requests to the API server: ${changes.map(({ requests }) => requests.length).join(", ")}`;
  yield { id: "many.quiet", samples: changes.map(({ seconds }) => seconds), note };
  yield { id: "many.quiet-cpu", samples: changes.map(({ cpuSeconds }) => cpuSeconds) };
}

function measureController(world: World): Promise<ProcessUse> {
  return readProcessUse(world.installation.servers["operator-controller"].pid);
}
