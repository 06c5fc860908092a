import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ClusterCatalog } from "../../../pkg/api/clusterCatalog.ts";
import { BenchCluster } from "../benchCluster.ts";
import { waitUntilQuiet } from "../many/quiet.ts";
import type { Figure, Measurement } from "../measurement.ts";
import { clusterCatalog, isServing } from "../objectState.ts";
import { Observer } from "../observer.ts";
import { readProcessUse } from "../processUse.ts";
import { catalogInMemory, dataFolder } from "../realData.ts";

const RUNS = 3;
const TIMEOUT_MS = 120_000;
/** Time until idle threads end and V8 returns unused memory. */
const REST_MS = 60_000;
const NAME = "certified";

/** Measures the memory of the servers at rest. Each run starts both programs with empty caches. */
export const restMeasurement: Measurement = {
  name: "rest",
  title: "memory at rest: catalogd with one catalog of 57 MB, operator-controller and permission-manager with nothing installed",
  figures: ["rest.catalogd", "rest.operator-controller", "rest.permission-manager"],
  async *run(context) {
    const files = await catalogInMemory(join(dataFolder(context), "fbc/certified-v4.14"));
    await using cluster = await BenchCluster.start(context);
    const runs = context.runs ?? RUNS;
    const samples = {
      catalogd: [] as MemorySample[],
      "operator-controller": [] as MemorySample[],
      "permission-manager": [] as MemorySample[],
    };
    for (let run = 1; run <= runs; run++) {
      await using world = await cluster.startServers();
      const ref = await world.pushCatalog("bench/certified", "v1", files);
      await using catalogs = await Observer.start<ClusterCatalog>(cluster.client, "ClusterCatalog");
      const apply = (): Promise<unknown> => world.apply(clusterCatalog(NAME, ref));
      await catalogs.secondsUntil(apply, () => isServing(catalogs.get(NAME)), TIMEOUT_MS);
      const { catalogd, "operator-controller": controller, "permission-manager": granter } = world.installation.servers;
      await waitUntilQuiet([catalogd.pid, controller.pid], TIMEOUT_MS);
      await sleep(REST_MS);
      samples.catalogd.push(await readMemory(catalogd.pid));
      samples["operator-controller"].push(await readMemory(controller.pid));
      samples["permission-manager"].push(await readMemory(granter.pid));
      context.say(
        `run ${run} of ${runs}: ${JSON.stringify(Object.fromEntries(Object.entries(samples).map(([name, list]) => [name, list.at(-1)])))}`,
      );
      await world.removed("ClusterCatalog", NAME);
    }
    yield createFigure("rest.catalogd", samples.catalogd);
    yield createFigure("rest.operator-controller", samples["operator-controller"]);
    yield createFigure("rest.permission-manager", samples["permission-manager"]);
  },
};

/** Resident memory of a process, and its anonymous part, in bytes. */
interface MemorySample {
  readonly rssBytes: number;
  readonly anonymousBytes: number;
}

async function readMemory(pid: number | undefined): Promise<MemorySample> {
  const { rssBytes } = await readProcessUse(pid);
  const kibibytes = /^RssAnon:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, "utf8"))?.[1];
  return { rssBytes, anonymousBytes: Number(kibibytes) * 1_024 };
}

function createFigure(id: Figure["id"], samples: readonly MemorySample[]): Figure {
  const anonymous = samples.map(({ anonymousBytes }) => Math.round(anonymousBytes / 1e6));
  return {
    id,
    samples: samples.map(({ rssBytes }) => rssBytes),
    note: `without memory-mapped files: ${anonymous.join(", ")} MB`,
  };
}
