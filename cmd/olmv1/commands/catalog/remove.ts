import { type Command, Option } from "commander";
import { addClusterOptions } from "../../cli/clusterOptions.ts";
import { outputOption } from "../../cli/output.ts";
import type { Terminal } from "../../cli/terminal.ts";
import type { RemoveOptions } from "../../clusterCatalog/remove.ts";
import { addRegistryOptions } from "../../registryOptions.ts";

const AFTER_HELP = `
It tells which ClusterExtensions have a bundle of the catalog installed: they go on running, and are upgraded only where another catalog has their
packages. For that its image is read, from the cache folder where it has been read before.

Examples:
  olmv1 catalog remove community
  olmv1 catalog remove community --dry-run=client
`;

/** Adds `olmv1 catalog remove`. */
export function addCatalogRemove(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("remove")
    .description("remove a catalog from the cluster, and tell what was installed from it")
    .argument("<name>", "name of the ClusterCatalog")
    .addOption(new Option("--dry-run <where>", "remove nothing; the server checks whether it could be").choices(["client", "server"]))
    .option("--no-cache", "read the catalog anew, and keep nothing of it");
  outputOption(addRegistryOptions(addClusterOptions(command)), ["text", "name", "json", "yaml"])
    .addHelpText("after", AFTER_HELP)
    .action(async (name: string, options: RemoveOptions) => {
      const { remove } = await import("../../clusterCatalog/remove.ts");
      await remove(terminal, name, options);
    });
}
