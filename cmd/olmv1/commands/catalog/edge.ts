import { type Command, Option } from "commander";
import type { AddEdgeOptions, RemoveEdgeOptions } from "../../catalog/edit/edits.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { addEditOptions, EDIT_MANNERS, EDITED_FOLDER } from "./editOptions.ts";

const AFTER_ADD = `${EDIT_MANNERS}
Without --type it is a replaces where the bundle replaces nothing yet, else a skips.

Examples:
  olmv1 catalog edge add ./catalog etcd --from etcd.v1.2.4 --to etcd.v1.3.0
  olmv1 catalog edge add ./catalog etcd --from etcd.v1.2.4 --to etcd.v1.3.0 --type skips --channel stable
  olmv1 catalog edge add ./catalog etcd --to etcd.v1.3.0 --skip-range '>=1.0.0 <1.3.0'
`;

const AFTER_REMOVE = `${EDIT_MANNERS}
Examples:
  olmv1 catalog edge remove ./catalog etcd --from etcd.v1.2.4 --to etcd.v1.3.0
  olmv1 catalog edge remove ./catalog etcd --to etcd.v1.3.0 --skip-range --channel stable
`;

const CHANNEL = "this channel alone; default: every one that has the bundle";

/** Adds `olmv1 catalog edge`. */
export function addEdgeCommands(catalog: Command, terminal: Terminal): void {
  const edge = catalog.command("edge").description("change what can be updated to what");
  const add = edge
    .command("add")
    .description("let a bundle follow another one, or a range of versions")
    .argument("<folder>", EDITED_FOLDER)
    .argument("<package>", "the package")
    .option("--from <bundle>", "what can be updated; the catalog need not have it")
    .requiredOption("--to <bundle>", "what it can be updated to")
    .option("--channel <name>", CHANNEL)
    .addOption(new Option("--type <type>", "the kind of edge").choices(["replaces", "skips"]))
    .option("--skip-range <range>", "versions that can be updated, in place of --from; the range that is there is replaced");
  addEditOptions(add)
    .addHelpText("after", AFTER_ADD)
    .action(async (folder: string, packageName: string, options: AddEdgeOptions) => {
      const { runAddEdge } = await import("../../catalog/edit/edits.ts");
      await runAddEdge(terminal, folder, packageName, options);
    });
  const remove = edge
    .command("remove")
    .description("take an update away")
    .argument("<folder>", EDITED_FOLDER)
    .argument("<package>", "the package")
    .option("--from <bundle>", "what could be updated")
    .requiredOption("--to <bundle>", "what it could be updated to")
    .option("--channel <name>", CHANNEL)
    .option("--skip-range", "take the range of versions away, in place of --from");
  addEditOptions(remove)
    .addHelpText("after", AFTER_REMOVE)
    .action(async (folder: string, packageName: string, options: RemoveEdgeOptions) => {
      const { runRemoveEdge } = await import("../../catalog/edit/edits.ts");
      await runRemoveEdge(terminal, folder, packageName, options);
    });
}
