import type { Command } from "commander";
import { addClusterOptions } from "../../cli/clusterOptions.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { addRegistryOptions } from "../../registryOptions.ts";
import type { SearchOptions } from "../../views/search.ts";
import { addSearchOptions } from "../../views/searchOptions.ts";

const AFTER_HELP = `
As olmv1 search, in one catalog: what contains a slash is the image of one, or a path with ./ or / in front, or that exists; everything else is the
name of a ClusterCatalog. Without words and filters all of its packages are listed.

Examples:
  olmv1 catalog search community gitops
  olmv1 catalog search ./catalog --kind PostgresCluster
  olmv1 catalog search quay.io/operatorhubio/catalog:latest -o name

Exit codes: 0 something was found; 1 nothing was; 2 that could not be found out.
`;

/** Adds `olmv1 catalog search`. */
export function addCatalogSearch(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("search")
    .description("find packages in one catalog of the cluster, a folder or an image")
    .argument("<catalog>", "ClusterCatalog, folder, file or image, also as oci:FOLDER[:TAG] or oci-archive:FILE[:TAG]")
    .argument("[words...]", "what to look for")
    .option("--no-cache", "read the catalog anew, and keep nothing of it");
  addRegistryOptions(addClusterOptions(addSearchOptions(command)))
    .addHelpText("after", AFTER_HELP)
    .action(async (name: string, words: string[], options: Omit<SearchOptions, "catalog" | "catalogDir" | "catalogImage">) => {
      const [{ search }, { sourceNamed }] = await Promise.all([import("../../views/search.ts"), import("../../views/catalogsNamed.ts")]);
      await search(terminal, words, { ...options, ...(await sourceNamed(name)) });
    });
}
