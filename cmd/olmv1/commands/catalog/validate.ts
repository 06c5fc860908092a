import type { Command } from "commander";
import type { ValidateOptions } from "../../catalog/validate.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { addRegistryOptions } from "../../registryOptions.ts";
import { addFindingOptions } from "../findingOptions.ts";
import { CATALOG_SOURCE } from "./source.ts";

const AFTER_HELP = `
Errors are what opm validate refuses, all at once and with file and line; warnings are most likely mistakes: in the update graph, in dependencies,
misspelt fields; remarks may be meant so. Every rule with its code: docs/reference/catalog-rules.md. catalogd serves catalogs with errors and says
so in condition Valid, unless it runs with --catalog-validation=Strict; what cannot be read at all it never serves.

Examples:
  olmv1 catalog validate ./catalog
  olmv1 catalog validate ./catalog --fail-on warning --ignore skip-range-without-replaces
  olmv1 catalog validate ./catalog --check-images -o sarif > catalog.sarif
  olmv1 catalog validate quay.io/example/catalog:latest -o json

Exit codes: 0 nothing was found that --fail-on names; 1 something was; 2 the catalog cannot be read.
`;

/** Adds `olmv1 catalog validate`. */
export function addValidate(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("validate")
    .description("check a file-based catalog")
    .argument("<catalog>", CATALOG_SOURCE)
    .option("--check-images", "ask the registries for every image that a bundle names");
  addRegistryOptions(addFindingOptions(command))
    .addHelpText("after", AFTER_HELP)
    .action(async (source: string, options: ValidateOptions) => {
      const { validate } = await import("../../catalog/validate.ts");
      await validate(terminal, source, options);
    });
}
