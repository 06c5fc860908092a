import { setTimeout as sleep } from "node:timers/promises";
import { API_VERSION, CLUSTER_EXTENSION } from "../../../pkg/api/constants.ts";
import { mapInParallel } from "../../../pkg/async/concurrency.ts";
import { AuditTail } from "../../support/auditTail.ts";
import { eventually } from "../../support/eventually.ts";
import { BenchCluster } from "../benchCluster.ts";
import { waitUntilQuiet, waitUntilWatched } from "../many/quiet.ts";
import { TinyWorld } from "../many/tinyWorld.ts";
import type { Figure, Measurement } from "../measurement.ts";
import { type ProcessUse, readProcessUse } from "../processUse.ts";

const EXTENSIONS = 100;
const REST_MS = 60_000;
const QUIET_TIMEOUT_MS = 120_000;
const AT_ONCE = 16;
const REPAIRS = 10;

/** Measures the cost at rest of many extensions whose objects are watched one by one, as permissions by name require. */
export const watchesMeasurement: Measurement = {
  name: "watches",
  title: "100 small extensions (--extensions), all watched: a minute at rest; then single objects are deleted",
  figures: ["watches.memory", "watches.streams", "watches.cpu", "watches.requests", "watches.repair"],
  async *run(context) {
    await using cluster = await BenchCluster.start(context);
    await using world = await cluster.startServers();
    const tiny = await TinyWorld.start(cluster, world, context.extensions ?? EXTENSIONS, context.say);
    await tiny.install({ drift: { policy: "Ignore" } });
    const { pid } = world.installation.servers["operator-controller"];
    await waitUntilQuiet([pid], QUIET_TIMEOUT_MS);
    const unwatched = await readProcessUse(pid);
    context.say("starting to watch");
    const started = performance.now();
    await mapInParallel(tiny.packages, AT_ONCE, async ({ name }) => {
      const ref = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name };
      await cluster.client.patch(ref, { spec: { drift: { policy: "Correct" } } }, { type: "merge" });
    });
    const streams = await waitUntilWatched(cluster.auditLog);
    await waitUntilQuiet([pid], QUIET_TIMEOUT_MS);
    context.say(`watching after ${((performance.now() - started) / 1_000).toFixed(1)} s, resting for ${REST_MS / 1_000} s`);
    yield* rest(cluster, pid, unwatched, { extensions: tiny.packages.length, streams });
    yield { id: "watches.repair", samples: await countRepairs(cluster, tiny) };
  },
};

async function* rest(
  cluster: BenchCluster,
  pid: number | undefined,
  unwatched: ProcessUse,
  { extensions, streams }: { extensions: number; streams: number },
): AsyncGenerator<Figure> {
  const [before, audit] = [await readProcessUse(pid), await AuditTail.fromNow(cluster.auditLog)];
  await sleep(REST_MS);
  const after = await readProcessUse(pid);
  const requests = await audit.listRequests();
  const each = Math.round((after.rssBytes - unwatched.rssBytes) / streams / 1_024);
  const note = `${extensions} extensions; ${Math.round(unwatched.rssBytes / 1e6)} MB before watching, ${each} KiB per stream; peak ${Math.round(after.peakRssBytes / 1e6)} MB`;
  yield { id: "watches.memory", samples: [after.rssBytes], note };
  yield { id: "watches.streams", samples: [streams] };
  yield { id: "watches.cpu", samples: [after.cpuSeconds - before.cpuSeconds] };
  yield { id: "watches.requests", samples: [requests.length] };
}

async function countRepairs(cluster: BenchCluster, { packages }: TinyWorld): Promise<number[]> {
  const times: number[] = [];
  for (const { name } of packages.slice(0, REPAIRS)) {
    const ref = { apiVersion: "v1", kind: "ConfigMap", namespace: name, name };
    const started = performance.now();
    await cluster.client.delete(ref);
    await eventually(
      async () => {
        if (!(await cluster.client.get(ref))) throw new Error(`ConfigMap ${name} is still gone`);
      },
      { intervalMs: 5 },
    );
    times.push((performance.now() - started) / 1_000);
  }
  return times;
}
