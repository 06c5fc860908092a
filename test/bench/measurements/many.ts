import type { ClusterCatalog } from "../../../pkg/api/clusterCatalog.ts";
import { API_VERSION } from "../../../pkg/api/constants.ts";
import type { World } from "../../support/world.ts";
import { BenchCluster } from "../benchCluster.ts";
import { requestsSince, untilQuiet } from "../many/quiet.ts";
import { TINY_CATALOG, TinyWorld } from "../many/tinyWorld.ts";
import type { Figure, Measurement } from "../measurement.ts";
import { type ProcessUse, processUse } from "../processUse.ts";

const CHANGES = 3;
const QUIET_TIMEOUT_MS = 120_000;

/** Many small extensions at once, each in a namespace and with a ServiceAccount of its own; then their catalog changes, but nothing for them. */
export const manyMeasurement: Measurement = {
  name: "many-extensions",
  title: "100 small extensions applied at once (--extensions); then a change of their catalog until all is quiet",
  figures: ["many.time", "many.cpu", "many.memory", "many.quiet", "many.quiet-cpu"],
  async *run(context) {
    await using cluster = await BenchCluster.start(context);
    await using world = await cluster.startServers();
    const tiny = await TinyWorld.start(cluster, world, context.extensions, context.say);
    yield* installAll(tiny, world, context.say);
    yield* changeCatalog(tiny, cluster, world, context.runs ?? CHANGES, context.say);
  },
};

async function* installAll(tiny: TinyWorld, world: World, say: (line: string) => void): AsyncGenerator<Figure> {
  const before = await controllerUse(world);
  const seconds = await tiny.install();
  const after = await controllerUse(world);
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

async function* changeCatalog(
  tiny: TinyWorld,
  cluster: BenchCluster,
  world: World,
  changes: number,
  say: (line: string) => void,
): AsyncGenerator<Figure> {
  const { catalogd, "operator-controller": controller } = world.installation.servers;
  const pids = [controller.pid, catalogd.pid];
  say("waiting for the servers to come to rest");
  await untilQuiet(pids, QUIET_TIMEOUT_MS);
  const times: number[] = [];
  const cpu: number[] = [];
  const requests: number[] = [];
  for (let change = 1; change <= changes; change++) {
    const ref = await tiny.pushEdition(change);
    const since = new Date();
    await cluster.client.patch(
      { apiVersion: API_VERSION, kind: "ClusterCatalog", name: TINY_CATALOG },
      { spec: { source: { image: { ref } } } },
      { type: "merge" },
    );
    const busy = await untilQuiet(pids, QUIET_TIMEOUT_MS);
    await assertServed(cluster, ref);
    const made = await requestsSince(cluster.auditLog, since);
    const last = made.reduce((latest, { requestReceivedTimestamp: at }) => Math.max(latest, new Date(at).getTime()), since.getTime());
    times.push(Math.max(busy.seconds, (last - since.getTime()) / 1_000));
    cpu.push(busy.cpuSeconds[0] ?? 0);
    requests.push(made.length);
    say(`change ${change} of ${changes}: quiet after ${times.at(-1)?.toFixed(2)} s, ${made.length} requests to the API server`);
  }
  yield { id: "many.quiet", samples: times, note: `requests to the API server: ${requests.join(", ")}` };
  yield { id: "many.quiet-cpu", samples: cpu };
}

async function assertServed(cluster: BenchCluster, ref: string): Promise<void> {
  const catalog = await cluster.client.get<ClusterCatalog>({ apiVersion: API_VERSION, kind: "ClusterCatalog", name: TINY_CATALOG });
  const served = catalog?.status?.resolvedSource?.image?.ref;
  if (served !== ref)
    throw new Error(`the servers are quiet, but ClusterCatalog ${TINY_CATALOG} serves ${served ?? "nothing"} and not ${ref}`);
}

function controllerUse(world: World): Promise<ProcessUse> {
  return processUse(world.installation.servers["operator-controller"].pid);
}
