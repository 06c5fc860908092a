import { statSync } from "node:fs";
import { type Command, Option } from "commander";
import { checkCatalogFolder } from "../../../pkg/catalogd/load/checkCatalog.ts";
import { goQuote } from "../../../pkg/errors/goQuote.ts";
import { validationReport } from "../catalog/validationReport.ts";
import { VALIDATION_FORMATS, type ValidationFormat } from "../validationFormat.ts";

/** What `validate` exits with where the catalog is not sound; an error has the same. */
const INVALID = 1;

const AFTER_HELP = `
It refuses what opm validate refuses, and tells everything at once, with file, document and line: errors, and as warnings what opm lets
through although the format forbids it. catalogd serves catalogs with such errors and says so in condition Valid, unless it runs with
--catalog-validation=Strict; what cannot be read at all it never serves.

Exit codes: 0 there are no errors; 1 there are, or the folder cannot be read.
`;

/** Adds `olmv1 catalog`: tools for file-based catalogs. */
export function addCatalog(program: Command): void {
  const catalog = program.command("catalog").description("work with file-based catalogs");
  catalog
    .command("validate")
    .description("check a file-based catalog in a folder")
    .argument("<directory>", "folder with the catalog, as it is copied into an image")
    .addOption(new Option("-o, --output <format>", "how to print what was found").choices(VALIDATION_FORMATS).default("text"))
    .addHelpText("after", AFTER_HELP)
    .action(async (directory: string, { output }: { output: ValidationFormat }) => {
      if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) throw new Error(`${goQuote(directory)} is not a directory`);
      const checked = await checkCatalogFolder(directory);
      process.stdout.write(validationReport(checked, output));
      if (checked.refusal !== undefined) process.exitCode = INVALID;
    });
}
