import type { ClusterCatalog } from "../../../pkg/api/clusterCatalog.ts";
import { generateCatalog } from "../../bench/generatedCatalog.ts";
import { clusterCatalog, isServing } from "../../bench/objectState.ts";
import { Observer } from "../../bench/observer.ts";
import { type Dimension, measureWork } from "../dimension.ts";

const BUNDLES_PER_PACKAGE = 8;
const NAME = "large";
const TIMEOUT_MS = 900_000;

/** Bundles of one catalog. */
export const bundlesDimension: Dimension = {
  name: "bundles",
  unit: "bundles",
  description: `catalogd pulls and stores one catalog, in packages of ${BUNDLES_PER_PACKAGE} bundles with 15 KB each.`,
  sizes: [5_000, 15_000, 50_000],
  measure: (size, context) =>
    measureWork(
      context,
      async (cluster, world) => {
        const { files } = generateCatalog(Math.ceil(size / BUNDLES_PER_PACKAGE));
        return { cluster, world, ref: await world.pushCatalog("scale/large", "v1", files) };
      },
      async ({ cluster, world, ref }) => {
        await using catalogs = await Observer.start<ClusterCatalog>(cluster.client, "ClusterCatalog");
        await catalogs.secondsUntil(
          () => world.apply(clusterCatalog(NAME, ref)),
          () => isServing(catalogs.get(NAME)),
          TIMEOUT_MS,
        );
      },
    ),
};
