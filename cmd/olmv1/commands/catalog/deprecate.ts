import type { Command } from "commander";
import type { DeprecateOptions } from "../../catalog/edit/edits.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { addEditOptions, EDIT_MANNERS, EDITED_FOLDER } from "./editOptions.ts";

const AFTER_HELP = `${EDIT_MANNERS}
Examples:
  olmv1 catalog deprecate ./catalog etcd --bundle etcd.v0.9.1 --message 'etcd.v0.9.1 loses data. Update to etcd.v0.9.2.'
  olmv1 catalog deprecate ./catalog etcd --channel alpha --message 'Use channel stable.' --dry-run
  olmv1 catalog deprecate ./catalog etcd --bundle etcd.v0.9.1 --undo
`;

/** Adds `olmv1 catalog deprecate`. */
export function addDeprecate(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("deprecate")
    .description("deprecate a package, a channel or a bundle")
    .argument("<folder>", EDITED_FOLDER)
    .argument("<package>", "the package, which is deprecated itself without --channel and --bundle")
    .option("--channel <name>", "a channel of it")
    .option("--bundle <name>", "a bundle of it")
    .option("--message <text>", "what users are told; one that is there already is replaced")
    .option("--undo", "take the deprecation back");
  addEditOptions(command)
    .addHelpText("after", AFTER_HELP)
    .action(async (folder: string, packageName: string, options: DeprecateOptions) => {
      const { runDeprecate } = await import("../../catalog/edit/edits.ts");
      await runDeprecate(terminal, folder, packageName, options);
    });
}
