import type { Command } from "commander";
import type { ImagesOptions } from "../../catalog/images.ts";
import { outputOption } from "../../cli/output.ts";
import { listed, several } from "../../cli/several.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { addRegistryOptions } from "../../registryOptions.ts";
import { CATALOG_SOURCE } from "./source.ts";

const AFTER_HELP = `
Examples:
  olmv1 catalog images ./catalog
  olmv1 catalog images ./catalog --packages clusterlogging --versions '4.3.x' -o name
  olmv1 catalog images quay.io/operatorhubio/catalog:latest --bundles 'clusterlogging.4.3*' -o json
`;

/** Adds `olmv1 catalog images`. */
export function addImages(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("images")
    .description("list the images of bundles and those that they name")
    .argument("<catalog>", CATALOG_SOURCE)
    .option("--packages <names>", "of these packages alone, with commas between", listed, [])
    .option("--versions <range>", "of versions in this range alone; PACKAGE:RANGE for those of one package", several, [])
    .option("--bundles <names>", "of these bundles alone, with commas between; * at the end stands for anything", listed, []);
  addRegistryOptions(outputOption(command, ["text", "name", "json", "yaml"]))
    .addHelpText("after", AFTER_HELP)
    .action(async (source: string, options: ImagesOptions) => {
      const { listImages } = await import("../../catalog/images.ts");
      await listImages(terminal, source, options);
    });
}
