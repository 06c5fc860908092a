import { join } from "node:path";
import type { ClusterCatalog } from "../../../pkg/api/clusterCatalog.ts";
import { BenchCluster } from "../benchCluster.ts";
import type { Measurement } from "../measurement.ts";
import { clusterCatalog, isServing } from "../objectState.ts";
import { Observer } from "../observer.ts";
import { readProcessUse } from "../processUse.ts";
import { catalogInMemory, dataFolder } from "../realData.ts";

const RUNS = 3;
const TIMEOUT_MS = 120_000;
const NAME = "certified";
const REPOSITORY = "bench/certified";

/**
 * Measures how catalogd pulls, validates, stores and serves a catalog of 57 MB; each run uses a new catalogd with empty
 * caches.
 */
export const unpackMeasurement: Measurement = {
  name: "catalog-unpack",
  group: "catalogd",
  title: "a real catalog of 57 MB: time from ClusterCatalog applied to Serving, and memory",
  figures: ["unpack.time", "unpack.peak"],
  async *run(context) {
    const files = await catalogInMemory(join(dataFolder(context), "fbc/certified-v4.14"));
    await using cluster = await BenchCluster.start(context);
    const runs = context.runs ?? RUNS;
    const times: number[] = [];
    const peaks: number[] = [];
    const cpu: number[] = [];
    for (let run = 1; run <= runs; run++) {
      await using world = await cluster.startServers();
      const ref = await world.pushCatalog(REPOSITORY, "v1", files);
      await using catalogs = await Observer.start<ClusterCatalog>(cluster.client, "ClusterCatalog");
      const { pid } = world.installation.servers.catalogd;
      const before = await readProcessUse(pid);
      const apply = (): Promise<unknown> => world.apply(clusterCatalog(NAME, ref));
      times.push(await catalogs.secondsUntil(apply, () => isServing(catalogs.get(NAME)), TIMEOUT_MS));
      const after = await readProcessUse(pid);
      peaks.push(after.peakRssBytes);
      cpu.push(after.cpuSeconds - before.cpuSeconds);
      context.say(`run ${run} of ${runs}: ${times.at(-1)?.toFixed(2)} s`);
      await world.removed("ClusterCatalog", NAME);
    }
    yield { id: "unpack.time", samples: times, note: `CPU time of catalogd until then: ${cpu.map((s) => s.toFixed(2)).join(", ")} s` };
    yield { id: "unpack.peak", samples: peaks };
  },
};
