import type { Command } from "commander";
import type { ValidateOptions } from "../../catalog/validate.ts";
import { outputOption } from "../../cli/output.ts";
import type { Terminal } from "../../cli/terminal.ts";

const AFTER_HELP = `
It refuses what opm validate refuses, and tells everything at once, with file, document and line: errors, and as warnings what opm lets
through although the format forbids it. catalogd serves catalogs with such errors and says so in condition Valid, unless it runs with
--catalog-validation=Strict; what cannot be read at all it never serves.

Examples:
  olmv1 catalog validate ./catalog
  olmv1 catalog validate ./catalog -o json

Exit codes: 0 there are no errors; 1 there are; 2 the folder cannot be read.
`;

/** Adds `olmv1 catalog validate`. */
export function addValidate(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("validate")
    .description("check a file-based catalog in a folder")
    .argument("<directory>", "folder with the catalog, as it is copied into an image");
  outputOption(command, ["text", "json", "yaml"])
    .addHelpText("after", AFTER_HELP)
    .action(async (directory: string, options: ValidateOptions) => {
      const { validate } = await import("../../catalog/validate.ts");
      await validate(terminal, directory, options);
    });
}
