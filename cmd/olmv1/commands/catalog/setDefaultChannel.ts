import type { Command } from "commander";
import type { EditOptions } from "../../catalog/edit/editFolder.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { addEditOptions, EDIT_MANNERS, EDITED_FOLDER } from "./editOptions.ts";

const AFTER_HELP = `${EDIT_MANNERS}
Examples:
  olmv1 catalog set-default-channel ./catalog etcd stable
  olmv1 catalog set-default-channel ./catalog etcd stable --dry-run
`;

/** Adds `olmv1 catalog set-default-channel`. */
export function addSetDefaultChannel(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("set-default-channel")
    .description("make a channel the default of its package")
    .argument("<folder>", EDITED_FOLDER)
    .argument("<package>", "the package")
    .argument("<channel>", "a channel of it");
  addEditOptions(command)
    .addHelpText("after", AFTER_HELP)
    .action(async (root: string, packageName: string, channel: string, options: EditOptions) => {
      const { runSetDefaultChannel } = await import("../../catalog/edit/edits.ts");
      await runSetDefaultChannel(terminal, { root, package: packageName, channel }, options);
    });
}
