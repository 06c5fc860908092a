import type { Command } from "commander";
import type { EditOptions } from "../../catalog/edit/editFolder.ts";
import type { EdgeOptions } from "../../catalog/edit/edits.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { addEdgeOptions, addEditOptions, EDIT_MANNERS, EDITED_FOLDER } from "./editOptions.ts";

const AFTER_HELP = `${EDIT_MANNERS}
Examples:
  olmv1 catalog promote ./catalog etcd etcd.v0.9.2 stable
  olmv1 catalog promote ./catalog etcd etcd.v0.9.2 stable --replaces etcd.v0.9.0 --skips etcd.v0.9.1
`;

/** Adds `olmv1 catalog promote`. */
export function addPromote(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("promote")
    .description("make a bundle an entry of another channel too")
    .argument("<folder>", EDITED_FOLDER)
    .argument("<package>", "the package")
    .argument("<bundle>", "name of the bundle")
    .argument("<channel>", "the channel, which is created where there is none");
  addEditOptions(addEdgeOptions(command))
    .addHelpText("after", AFTER_HELP)
    .action(async (root: string, packageName: string, bundle: string, channel: string, options: EditOptions & EdgeOptions) => {
      const { runPromote } = await import("../../catalog/edit/edits.ts");
      await runPromote(terminal, { root, package: packageName, bundle, channel }, options);
    });
}
