import type { Command } from "commander";
import { addClusterOptions, type ClusterOptions } from "../cli/clusterOptions.ts";
import { several } from "../cli/several.ts";
import { addRegistryOptions } from "../registryOptions.ts";

/** Which catalogs are looked at, and how they are read. */
export interface SourceOptions extends ClusterOptions {
  catalog: string[];
  catalogDir: string[];
  catalogImage: string[];
  /** False with --no-cache. */
  cache: boolean;
  registriesConf?: string;
  signaturePolicy?: string;
  authFile?: string;
}

/** Where catalogs come from, for the help of commands that have these options. */
export const SOURCES_HELP = `
Without --catalog-dir and --catalog-image the catalogs are the cluster's ClusterCatalogs that serve, in the content that their status names: their
images are pulled once, with your registry credentials, which takes the right to list ClusterCatalogs. With one of them no cluster is asked.
What was read is kept in the cache folder ($XDG_CACHE_HOME/olmv1/catalogs, else ~/.cache), by digest and at most 2 GiB of it.
`;

/** Adds the options of SourceOptions. */
export function addSourceOptions(command: Command): Command {
  command
    .option("--catalog <name>", "only the catalog of this name; repeatable", several, [])
    .option(
      "--catalog-dir <[name=]path>",
      "folder, file or OCI layout with a file-based catalog, instead of the cluster's; repeatable",
      several,
      [],
    )
    .option(
      "--catalog-image <[name=]ref>",
      "image with a file-based catalog, also as oci:FOLDER[:TAG] or oci-archive:FILE[:TAG], instead of the cluster's; repeatable",
      several,
      [],
    )
    .option("--no-cache", "read catalogs anew, and keep nothing of them");
  return addRegistryOptions(addClusterOptions(command));
}
