import type { Command } from "commander";
import type { EditOptions } from "../../catalog/edit/editFolder.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { addEditOptions, EDIT_MANNERS, EDITED_FOLDER } from "./editOptions.ts";

const AFTER_HELP = `
Every patch release updates to the newest of its minor version, that one to the newest of the next minor version, and every bundle, also one that only
the old graph names, has a single replacement. A skipRange would give versions a second one and goes.
${EDIT_MANNERS}
Examples:
  olmv1 catalog zstream ./catalog etcd --dry-run
  olmv1 catalog zstream ./catalog etcd --channel stable
`;

/** Adds `olmv1 catalog zstream`. */
export function addZstream(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("zstream")
    .description("make update graphs by minor versions")
    .argument("<folder>", EDITED_FOLDER)
    .argument("<package>", "the package")
    .option("--channel <name>", "this channel alone; default: all");
  addEditOptions(command)
    .addHelpText("after", AFTER_HELP)
    .action(async (folder: string, packageName: string, options: EditOptions & { channel?: string }) => {
      const { runZstream } = await import("../../catalog/edit/edits.ts");
      await runZstream(terminal, folder, packageName, options);
    });
}
