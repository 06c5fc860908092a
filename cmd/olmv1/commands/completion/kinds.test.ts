import type { Command, Option } from "commander";
import { expect, test } from "vitest";
import { CommandTerminal } from "../../cli/terminal.ts";
import { olmv1 } from "../../program.ts";
import { getCommandPath } from "./complete.ts";
import { ARGUMENT_KINDS, OPTION_KINDS } from "./kinds.ts";

const program = olmv1(new CommandTerminal({ out: () => undefined, err: () => undefined }));
const COMMANDS = commandsBelow(program).filter((command) => !getCommandPath(command).startsWith("__"));

function commandsBelow(command: Command): Command[] {
  return command.commands.flatMap((one) => [one, ...commandsBelow(one)]);
}

test("ARGUMENT_KINDS lists exactly the commands that have an argument without a fixed list of choices", () => {
  const named = COMMANDS.filter(({ registeredArguments }) => registeredArguments.some(({ argChoices }) => argChoices === undefined));
  expect(Object.keys(ARGUMENT_KINDS)).toEqual(named.map(getCommandPath).sort());
});

test("OPTION_KINDS lists every option that accepts a path", () => {
  const takesPath = ({ flags }: Option): boolean => /<(?:path|file|folder|directory|dir)>/.test(flags);
  const options = COMMANDS.flatMap((command) => command.options);
  const missing = options.filter((option) => takesPath(option) && !["file", "folder"].includes(OPTION_KINDS[option.long ?? ""] ?? ""));
  expect([...new Set(missing.map(({ flags }) => flags))]).toEqual([]);
});

test("OPTION_KINDS lists only existing options", () => {
  const long = new Set(COMMANDS.flatMap(({ options }) => options.map((option) => option.long)));
  expect(Object.keys(OPTION_KINDS).filter((option) => !long.has(option))).toEqual([]);
});
