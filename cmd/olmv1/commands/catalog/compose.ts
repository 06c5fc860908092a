import { type Command, Option } from "commander";
import type { ComposeOptions } from "../../catalog/compose/compose.ts";
import { outputOption } from "../../cli/output.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { addRegistryOptions } from "../../registryOptions.ts";
import { addMigrateOptions } from "./render.ts";

const AFTER_HELP = `
The references file says what goes into the catalog, each reference into a folder of its name:

  name: example-operators
  repo: quay.io/example/catalog
  tag: latest
  references:
  - name: etcd-operator
    image: quay.io/etcd-operator/index@sha256:5891b5b5…
  - name: own
    path: ../catalogs/own      # a folder, from where this file lies
    packages: [gadget]         # these alone; default: all

Nothing is written unless the whole catalog is sound. A package that two references have is an error that names both.

Examples:
  olmv1 catalog compose -f catalog.yaml
  olmv1 catalog compose -f catalog.yaml --output-dir build/catalog --force -o json

Exit codes: 1 the catalogs do not go together.
`;

/** Adds `olmv1 catalog compose`. */
export function addCompose(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("compose")
    .description("put several catalogs together into one")
    .requiredOption("-f, --file <file>", "the references file; - is standard input")
    .option("--output-dir <folder>", "where the catalog is written; default: the name in the references file")
    .addOption(new Option("--format <format>", "of the files that are written").choices(["yaml", "json"]).default("yaml"))
    .option("--force", "write into a folder that is not empty; files of other names stay, and are checked with the rest");
  addRegistryOptions(addMigrateOptions(outputOption(command, ["text", "json", "yaml"])))
    .addHelpText("after", AFTER_HELP)
    .action(async (options: ComposeOptions) => {
      const { compose } = await import("../../catalog/compose/compose.ts");
      await compose(terminal, options);
    });
}
