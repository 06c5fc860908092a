import { type Command, Option } from "commander";
import type { DockerfileCommandOptions } from "../../catalog/compose/dockerfile.ts";
import { outputOption } from "../../cli/output.ts";
import type { Terminal } from "../../cli/terminal.ts";

const OPM = "quay.io/operator-framework/opm:latest";

const AFTER_HELP = `
The file is the one that opm generate dockerfile writes, beside the folder and called after it. With base image scratch the image holds the catalog
and its cache only, which is all that OLM v1 needs.

Examples:
  olmv1 catalog dockerfile ./catalog
  olmv1 catalog dockerfile ./catalog --base-image scratch --extra-labels vendor=example,release=3
`;

/** Adds `olmv1 catalog dockerfile`. */
export function addDockerfile(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("dockerfile")
    .description("write the Dockerfile of a catalog image")
    .argument("<folder>", "folder with the catalog")
    .option("-i, --base-image <image>", `what the image is made on; default: ${OPM}`)
    .option("-b, --builder-image <image>", `what makes the catalog's cache; default: ${OPM}`)
    .addOption(new Option("--binary-image <image>", "the former name of --base-image, for the builder as well").hideHelp())
    .addOption(new Option("-l, --extra-labels <labels>", "such as key=value, with commas between").argParser(labels).default([], "none"))
    .option("--force", "replace the file where there is one");
  outputOption(command, ["text", "json", "yaml"])
    .addHelpText("after", AFTER_HELP)
    .action(async (folder: string, options: DockerfileCommandOptions) => {
      const { dockerfile } = await import("../../catalog/compose/dockerfile.ts");
      await dockerfile(terminal, folder, options);
    });
}

/** May be given more than once. */
function labels(text: string, before: readonly string[]): string[] {
  return [...before, ...text.split(",").filter((label) => label !== "")];
}
