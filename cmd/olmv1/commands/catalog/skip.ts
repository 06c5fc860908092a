import type { Command } from "commander";
import type { EditOptions } from "../../catalog/edit/editFolder.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { addEditOptions, EDIT_MANNERS, EDITED_FOLDER } from "./editOptions.ts";

const AFTER_HELP = `
The newer bundle skips the bad one and, where it replaced that, replaces what the bad one did: clusters that have the bad one leave it, no other comes
to it.
${EDIT_MANNERS}
Examples:
  olmv1 catalog skip ./catalog etcd etcd.v0.9.1
  olmv1 catalog skip ./catalog etcd etcd.v0.9.1 --by etcd.v0.9.2 --channel stable
`;

/** Adds `olmv1 catalog skip`. */
export function addSkip(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("skip")
    .description("let a newer bundle take the place of a bad one")
    .argument("<folder>", EDITED_FOLDER)
    .argument("<package>", "the package")
    .argument("<bundle>", "name of the bad bundle")
    .option("--by <bundle>", "the newer one; default: the head of each channel")
    .option("--channel <name>", "this channel alone; default: every one that has the bundle");
  addEditOptions(command)
    .addHelpText("after", AFTER_HELP)
    .action(async (root: string, packageName: string, bundle: string, options: EditOptions & { by?: string; channel?: string }) => {
      const { runSkip } = await import("../../catalog/edit/edits.ts");
      await runSkip(terminal, { root, package: packageName, bundle }, options);
    });
}
