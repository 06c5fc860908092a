import type { ClusterCatalog } from "../../../pkg/api/clusterCatalog.ts";
import { BenchCluster } from "../benchCluster.ts";
import { generateCatalog } from "../generatedCatalog.ts";
import type { Measurement } from "../measurement.ts";
import { clusterCatalog, isServing } from "../objectState.ts";
import { Observer } from "../observer.ts";
import { readProcessUse } from "../processUse.ts";

const RUNS = 2;
const TIMEOUT_MS = 300_000;
const NAME = "growth";
const SIZES = [1, 200, 2_000] as const;

/**
 * Unpacks catalogs of 1, 200 and 2,000 packages of equal size, each with a new catalogd. The time should grow linearly.
 */
export const catalogGrowthMeasurement: Measurement = {
  name: "catalogd-growth",
  group: "catalogd",
  title: "generated catalogs of 1, 200 and 2,000 packages: time per package, and memory",
  figures: ["growth.1", "growth.1-peak", "growth.200", "growth.200-peak", "growth.2000", "growth.2000-peak"],
  async *run(context) {
    await using cluster = await BenchCluster.start(context);
    for (const packages of SIZES) {
      const catalog = generateCatalog(packages);
      const perPackage: number[] = [];
      const peaks: number[] = [];
      const totals: string[] = [];
      for (let run = 1; run <= (context.runs ?? RUNS); run++) {
        await using world = await cluster.startServers();
        const ref = await world.pushCatalog(`bench/growth-${packages}`, "v1", catalog.files);
        await using catalogs = await Observer.start<ClusterCatalog>(cluster.client, "ClusterCatalog");
        const apply = (): Promise<unknown> => world.apply(clusterCatalog(NAME, ref));
        const seconds = await catalogs.secondsUntil(apply, () => isServing(catalogs.get(NAME)), TIMEOUT_MS);
        perPackage.push(seconds / packages);
        peaks.push((await readProcessUse(world.installation.servers.catalogd.pid)).peakRssBytes);
        totals.push(seconds.toFixed(2));
        context.say(`${packages} packages, run ${run}: ${seconds.toFixed(2)} s`);
        await world.removed("ClusterCatalog", NAME);
      }
      const note = `${(catalog.bytes / 1e6).toFixed(1)} MB, total time ${totals.join(", ")} s`;
      yield { id: `growth.${packages}`, samples: perPackage, note };
      yield { id: `growth.${packages}-peak`, samples: peaks };
    }
  },
};
