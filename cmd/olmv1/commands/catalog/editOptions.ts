import type { Command } from "commander";
import { outputOption } from "../../cli/output.ts";
import { listed } from "../../cli/several.ts";

/** The folder of an edit. */
export const EDITED_FOLDER = "folder with the catalog";

/** What every edit says of itself. */
export const EDIT_MANNERS = `
Only the lines of the change change: comments, order and form of all else stay. The result is checked, and nothing is written when opm would refuse
it for something new. Doing it again changes nothing.
`;

/** Adds the options of `EditOptions`. */
export function addEditOptions(command: Command): Command {
  return outputOption(command.option("--dry-run", "change nothing, print the change as a diff"), ["text", "json", "yaml"]);
}

/** Adds the options that say what a new entry of a channel follows. */
export function addEdgeOptions(command: Command): Command {
  return command
    .option("--replaces <bundle>", "what it replaces there; default: the head of the channel, where no other edge is given")
    .option("--skips <bundles>", "what it skips there, with commas between", listed, [])
    .option("--skip-range <range>", "versions that can be updated to it directly, such as '>=1.0.0 <1.2.0'");
}
