import type { ClusterCatalog } from "../../../pkg/api/clusterCatalog.ts";
import { mapInParallel } from "../../../pkg/async/concurrency.ts";
import { generateCatalog } from "../../bench/generatedCatalog.ts";
import { TinyWorld } from "../../bench/many/tinyWorld.ts";
import { clusterCatalog, isServing } from "../../bench/objectState.ts";
import { Observer } from "../../bench/observer.ts";
import { type Dimension, measureWork } from "../dimension.ts";

const PACKAGES = 10;
const EXTENSIONS = 20;
const AT_ONCE = 8;
const TIMEOUT_MS = 900_000;

/** Catalogs that are applied at once, then extensions that search all of them. */
export const catalogsDimension: Dimension = {
  name: "catalogs",
  unit: "catalogs",
  description: `Catalogs of ${PACKAGES} packages (1.2 MB) are applied at once. Then ${EXTENSIONS} extensions, which have no selector, search all of them and are installed.`,
  sizes: [20, 60, 200],
  measure: (size, context) =>
    measureWork(
      context,
      async (cluster, world) => {
        const tiny = await TinyWorld.start(cluster, world, EXTENSIONS, context.say);
        const { files } = generateCatalog(PACKAGES);
        const names = Array.from({ length: size }, (_, i) => `catalog-${i}`);
        const refs = await mapInParallel(names, AT_ONCE, (name) => world.pushCatalog(`scale/${name}`, "v1", files));
        return { cluster, world, tiny, catalogs: names.map((name, i) => clusterCatalog(name, refs[i] ?? "")) };
      },
      async ({ cluster, world, tiny, catalogs }) => {
        await using observed = await Observer.start<ClusterCatalog>(cluster.client, "ClusterCatalog");
        await observed.secondsUntil(
          () => mapInParallel(catalogs, AT_ONCE, (catalog) => world.apply(catalog)),
          () => catalogs.every(({ metadata: { name } }) => isServing(observed.get(name))),
          TIMEOUT_MS,
        );
        await tiny.install();
      },
    ),
};
