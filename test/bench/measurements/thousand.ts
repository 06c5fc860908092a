import { setTimeout as sleep } from "node:timers/promises";
import { BenchCluster } from "../benchCluster.ts";
import { changeCatalog } from "../many/catalogChange.ts";
import { waitUntilQuiet } from "../many/quiet.ts";
import { TinyWorld } from "../many/tinyWorld.ts";
import type { BenchContext, Measurement } from "../measurement.ts";
import { type ProcessUse, readProcessUse } from "../processUse.ts";

const FEW = 100;
const MANY = 1_000;
/** Time until V8 has finished garbage collection after this much work. */
const SETTLE_SECONDS = 30;
const REST_SECONDS = 60;
const QUIET_TIMEOUT_MS = 600_000;

/** Installs 100 and then 1,000 small extensions, each with a new process, and compares the cost per extension. */
export const thousandMeasurement: Measurement = {
  name: "thousand-extensions",
  title:
    "1,000 small extensions (--extensions) applied at once, 60 s at rest, one catalog change; cost per extension compared with 100 extensions",
  figures: [
    "thousand.time",
    "thousand.cpu",
    "thousand.few-cpu",
    "thousand.ratio",
    "thousand.rest",
    "thousand.memory",
    "thousand.quiet",
    "thousand.quiet-cpu",
  ],
  async *run(context) {
    const few = await measureCpuPerExtension(context, FEW);
    const count = context.extensions ?? MANY;
    await using cluster = await BenchCluster.start(context);
    await using world = await cluster.startServers();
    const tiny = await TinyWorld.start(cluster, world, count, context.say);
    const { catalogd, "operator-controller": controller } = world.installation.servers;
    const use = (): Promise<ProcessUse> => readProcessUse(controller.pid);
    const before = await use();
    const seconds = await tiny.install();
    const each = ((await use()).cpuSeconds - before.cpuSeconds) / count;
    context.say(`${count} extensions installed in ${seconds.toFixed(1)} s`);
    yield {
      id: "thousand.time",
      samples: [seconds],
      note: `${count} extensions of 7 objects, each with its own namespace and ServiceAccount`,
    };
    yield { id: "thousand.cpu", samples: [each] };
    yield { id: "thousand.few-cpu", samples: [few] };
    yield { id: "thousand.ratio", samples: [each / few] };
    await waitUntilQuiet([controller.pid, catalogd.pid], QUIET_TIMEOUT_MS);
    await sleep(SETTLE_SECONDS * 1_000);
    const quiet = await use();
    await sleep(REST_SECONDS * 1_000);
    const rested = await use();
    yield { id: "thousand.rest", samples: [(rested.cpuSeconds - quiet.cpuSeconds) / REST_SECONDS], note: `${REST_SECONDS} s` };
    yield { id: "thousand.memory", samples: [rested.rssBytes], note: `peak ${Math.round(rested.peakRssBytes / 1e6)} MB` };
    const change = await changeCatalog(tiny, cluster, world, 1);
    const note = `requests to the API server: ${change.requests.length}`;
    yield { id: "thousand.quiet", samples: [change.seconds], note };
    yield { id: "thousand.quiet-cpu", samples: [change.cpuSeconds] };
  },
};

/** Measures the CPU time of operator-controller per extension when `count` are applied concurrently. */
async function measureCpuPerExtension(context: BenchContext, count: number): Promise<number> {
  await using cluster = await BenchCluster.start(context);
  await using world = await cluster.startServers();
  const tiny = await TinyWorld.start(cluster, world, count, context.say);
  const { pid } = world.installation.servers["operator-controller"];
  const before = await readProcessUse(pid);
  const seconds = await tiny.install();
  context.say(`${count} extensions installed in ${seconds.toFixed(1)} s`);
  return ((await readProcessUse(pid)).cpuSeconds - before.cpuSeconds) / count;
}
