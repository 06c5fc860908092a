import type { Check } from "./check.ts";
import { sameBundles } from "./offer.ts";

/** No catalog can carry it on; all that hold are told. */
export const CATALOG_BLOCKS = {
  NoClusterCatalog: ({ packageName, installedCsv, source, sourceNamespace }, { csv, offers, sourceImage }) => {
    if (!csv || offers.bundles.length > 0) return undefined;
    const unread = offers.unread.length > 0 ? ` (not read: ${offers.unread.join("; ")})` : "";
    const from =
      source === undefined
        ? ""
        : ` with the image of CatalogSource "${sourceNamespace ?? "?"}/${source}"${sourceImage === undefined ? "" : `, ${sourceImage}`}`;
    const made = sourceImage === undefined ? "" : `: olmv1 migrate catalogs ${source ?? ""} -n ${sourceNamespace ?? ""} --yes makes one`;
    const next = `add a ClusterCatalog that has it${from}`;
    if (offers.catalogs.length === 0) return { text: `no ClusterCatalog has package "${packageName}"${unread}`, next: `${next}${made}` };
    return {
      text: `package "${packageName}" is in ClusterCatalog ${offers.catalogs.join(", ")}, but bundle "${installedCsv ?? ""}" with version ${csv.version} is not${unread}`,
      next: `${next}, or let OLM classic upgrade to a version that is there`,
    };
  },
  VersionDiffers: (_, { csv, offers }) =>
    !csv || offers.bundles.length === 0 || sameBundles(offers, csv).length > 0
      ? undefined
      : {
          text: `bundle "${csv.name}" has version ${csv.version} on the cluster, and ${offers.bundles.map(({ version, catalog }) => `${version} in ClusterCatalog ${catalog}`).join(", ")}`,
          next: "add a ClusterCatalog with what is installed, or let OLM classic upgrade to a version that is there",
        },
  NotInChannel: ({ channel }, { csv, offers }) => {
    const bundles = csv ? sameBundles(offers, csv) : [];
    return channel === undefined || bundles.length === 0 || bundles.some(({ channels }) => channels.includes(channel))
      ? undefined
      : {
          text: `channel "${channel}" does not hold the installed bundle any more in ClusterCatalog ${bundles.map(({ catalog }) => catalog).join(", ")}`,
          next: `change spec.channel of the Subscription to one that does: ${[...new Set(bundles.flatMap(({ channels }) => channels))].join(", ")}`,
        };
  },
} as const satisfies Record<string, Check>;

export type CatalogBlock = keyof typeof CATALOG_BLOCKS;
