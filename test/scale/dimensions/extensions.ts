import { TinyWorld } from "../../bench/many/tinyWorld.ts";
import { type Dimension, measureWork } from "../dimension.ts";

/** Small extensions that are installed at the same time. */
export const extensionsDimension: Dimension = {
  name: "extensions",
  unit: "extensions",
  description: "All extensions are applied at once, each with 7 objects in its own namespace and with its own ServiceAccount.",
  sizes: [100, 300, 1_000],
  measure: (size, context) =>
    measureWork(
      context,
      (cluster, world) => TinyWorld.start(cluster, world, size, context.say),
      async (tiny) => void (await tiny.install()),
    ),
};
