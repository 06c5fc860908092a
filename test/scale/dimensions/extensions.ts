import { TinyWorld } from "../../bench/many/tinyWorld.ts";
import { type Dimension, measureWork } from "../dimension.ts";

const SIZES = [100, 300, 1_000];

/** Small extensions that are installed at the same time, with prepared ServiceAccounts. */
export const extensionsDimension: Dimension = {
  name: "extensions",
  unit: "extensions",
  description: "All extensions are applied at once, each with 7 objects in its own namespace and with its own ServiceAccount.",
  sizes: SIZES,
  measure: measureInstall(false),
};

/** Small extensions that are installed at the same time, without ServiceAccounts. */
export const managedExtensionsDimension: Dimension = {
  name: "managed-extensions",
  unit: "extensions with managed permissions",
  description: "The same without ServiceAccounts: permission-manager grants each extension its permissions.",
  sizes: SIZES,
  measure: measureInstall(true),
};

function measureInstall(isManaged: boolean): Dimension["measure"] {
  return (size, context) =>
    measureWork(
      context,
      (cluster, world) => TinyWorld.start(cluster, world, size, context.say),
      async (tiny) => void (await tiny.install({}, isManaged)),
    );
}
