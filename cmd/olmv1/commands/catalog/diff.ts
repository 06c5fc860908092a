import { type Command, Option } from "commander";
import type { DiffOptions } from "../../catalog/diff.ts";
import { outputOption } from "../../cli/output.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { addRegistryOptions } from "../../registryOptions.ts";
import { CATALOG_SOURCE } from "./source.ts";

const AFTER_HELP = `
Packages, channels, edges, bundles, deprecations and default channels are compared, not files. Breaking for clusters that use the old catalog are: a
package, channel or bundle that went; another default channel; another image or version under a bundle's name; an update that an installed bundle had
and has no longer.

Examples:
  olmv1 catalog diff quay.io/example/catalog:latest ./catalog
  olmv1 catalog diff ./old ./new --fail-on any -o json

Exit codes: 0 there is nothing that --fail-on names; 1 there is; 2 a catalog cannot be read.
`;

/** Adds `olmv1 catalog diff`. */
export function addDiff(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("diff")
    .description("tell what is different in a catalog, and what of it breaks clusters")
    .argument("<before>", CATALOG_SOURCE)
    .argument("<after>", "the same")
    .addOption(
      new Option("--fail-on <what>", "which differences make it exit with 1").choices(["breaking", "any", "never"]).default("breaking"),
    );
  addRegistryOptions(outputOption(command, ["text", "json", "yaml"]))
    .addHelpText("after", AFTER_HELP)
    .action(async (before: string, after: string, options: DiffOptions) => {
      const { diff } = await import("../../catalog/diff.ts");
      await diff(terminal, before, after, options);
    });
}
