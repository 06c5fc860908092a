import type { Command } from "commander";
import type { ExtractOptions } from "../../catalog/edit/extract.ts";
import { listed, several } from "../../cli/several.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { addRegistryOptions } from "../../registryOptions.ts";
import { addEditOptions } from "./editOptions.ts";
import { CATALOG_SOURCE } from "./source.ts";

const AFTER_HELP = `
Files keep their names and comments. Update graphs stay valid: what replaced a version that is not taken replaces the one before it and skips what is
between, so that every bundle that is installed still has its update.

Examples:
  olmv1 catalog extract ./catalog ./small --packages etcd,argocd-operator --heads-only
  olmv1 catalog extract quay.io/operatorhubio/catalog:latest ./small --channels etcd:stable --versions 'etcd:>=0.9.2'
`;

/** Adds `olmv1 catalog extract`. */
export function addExtract(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("extract")
    .description("write a part of a catalog as a catalog of its own")
    .argument("<catalog>", CATALOG_SOURCE)
    .argument("<target>", "folder to write to, which is new or empty")
    .option("--packages <names>", "these packages alone, with commas between", listed, [])
    .option("--channels <names>", "these channels alone, with commas between; PACKAGE:CHANNEL for those of one package", listed, [])
    .option("--versions <range>", "versions in this range alone; PACKAGE:RANGE for those of one package", several, [])
    .option("--heads-only", "the newest version of each channel alone")
    .option("--default-channel <name>", "default channel where the package's own is not taken");
  addRegistryOptions(addEditOptions(command))
    .addHelpText("after", AFTER_HELP)
    .action(async (source: string, target: string, options: ExtractOptions) => {
      const { runExtract } = await import("../../catalog/edit/extract.ts");
      await runExtract(terminal, source, target, options);
    });
}
