import type { Command } from "commander";
import { addClusterOptions, type ClusterOptions } from "../../cli/clusterOptions.ts";
import { type Output, outputOption } from "../../cli/output.ts";
import type { Terminal } from "../../cli/terminal.ts";

const AFTER_LIST = `
The highest priority comes first. -o wide adds the digest that is served, how often the tag is looked up, when it was unpacked, and labels.

Examples:
  olmv1 catalog list
  olmv1 catalog list -o wide
  olmv1 catalog list -o jsonpath='{range .items[*]}{.metadata.name}{"\\n"}{end}'
`;
const AFTER_GET = `
Examples:
  olmv1 catalog get community
  olmv1 catalog get community -o yaml
  olmv1 catalog get community -o jsonpath='{.status.resolvedSource.image.ref}'
`;

/** Adds `olmv1 catalog list`. */
export function addCatalogList(catalog: Command, terminal: Terminal): void {
  const command = catalog.command("list").description("list the catalogs of the cluster, and how they are");
  outputOption(addClusterOptions(command), ["text", "wide", "name", "json", "yaml"])
    .addHelpText("after", AFTER_LIST)
    .action(async (options: ClusterOptions & { output: Output }) => {
      const { list } = await import("../../clusterCatalog/list.ts");
      await list(terminal, options);
    });
}

/** Adds `olmv1 catalog get`. */
export function addCatalogGet(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("get")
    .description("show one catalog of the cluster, with what its conditions say")
    .argument("<name>", "name of the ClusterCatalog");
  outputOption(addClusterOptions(command), ["text", "wide", "name", "json", "yaml"])
    .addHelpText("after", AFTER_GET)
    .action(async (name: string, options: ClusterOptions & { output: Output }) => {
      const { get } = await import("../../clusterCatalog/list.ts");
      await get(terminal, name, options);
    });
}
