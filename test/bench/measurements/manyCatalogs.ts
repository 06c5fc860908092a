import { join } from "node:path";
import type { World } from "../../support/world.ts";
import { BenchCluster } from "../benchCluster.ts";
import { LARGE_BYTES, largeCatalog } from "../largeCatalog.ts";
import { waitUntilQuiet, waitUntilWatched } from "../many/quiet.ts";
import { TinyWorld } from "../many/tinyWorld.ts";
import type { BenchContext, Measurement } from "../measurement.ts";
import { clusterCatalog } from "../objectState.ts";
import { readProcessUse } from "../processUse.ts";
import { catalogInMemory, dataFolder } from "../realData.ts";

const EXTENSIONS = 100;
const TIMEOUT_MS = 600_000;

/** Installs many small extensions. The controller also searches real catalogs for their packages; one is as large as the largest known catalog. */
export const manyCatalogsMeasurement: Measurement = {
  name: "many-catalogs",
  title: "operator-controller memory with 100 small extensions (--extensions) and 4 catalogs, one of 539 MB",
  figures: ["many-catalogs.memory"],
  async *run(context) {
    await using cluster = await BenchCluster.start(context);
    await using world = await cluster.startServers();
    const bytes = await serveReal(world, context);
    const tiny = await TinyWorld.start(cluster, world, context.extensions ?? EXTENSIONS, context.say);
    const seconds = await tiny.install();
    const streams = await waitUntilWatched(cluster.auditLog);
    const { pid } = world.installation.servers["operator-controller"];
    await waitUntilQuiet([pid], TIMEOUT_MS);
    const { rssBytes, peakRssBytes } = await readProcessUse(pid);
    const catalogs = bytes.map((size) => `${Math.round(size / 1e6)} MB`).join(", ");
    const note = `${tiny.packages.length} extensions, ${streams} streams; other catalogs: ${catalogs}; peak ${Math.round(peakRssBytes / 1e6)} MB`;
    context.say(`installed in ${seconds.toFixed(1)} s`);
    yield { id: "many-catalogs.memory", samples: [rssBytes], note };
  },
};

/** @returns the size of the files of each catalog. */
async function serveReal(world: World, context: BenchContext): Promise<number[]> {
  const folder = join(dataFolder(context), "fbc");
  const [certified, community] = [join(folder, "certified-v4.14"), join(folder, "community-v4.19")];
  const sizes: number[] = [];
  const serve = async (name: string, files: ReadonlyMap<string, Uint8Array>): Promise<void> => {
    context.say(`serving ${name}`);
    await world.apply(clusterCatalog(name, await world.pushCatalog(`bench/${name}`, "v1", files)));
    await world.condition("ClusterCatalog", name, (condition) => condition("Serving")?.status === "True", TIMEOUT_MS);
    sizes.push([...files.values()].reduce((sum, { length }) => sum + length, 0));
  };
  await serve("certified", await catalogInMemory(certified));
  await serve("community", await catalogInMemory(community));
  await serve("large", (await largeCatalog([certified, community], LARGE_BYTES)).files);
  return sizes;
}
