import type { Command } from "commander";
import { expect, test } from "vitest";
import { runCli } from "../../../test/support/runCli.ts";
import { CommandTerminal } from "../cli/terminal.ts";
import { olmv1 } from "../program.ts";
import { getCommandPath } from "./completion/complete.ts";

const program = olmv1(new CommandTerminal({ out: () => undefined, err: () => undefined }));

/** Commands that do something, in the order of the help. */
function leavesOf(command: Command): Command[] {
  const subs = command.commands.filter((one) => !one.name().startsWith("__"));
  return subs.length === 0 ? [command] : subs.flatMap(leavesOf);
}

test.for(leavesOf(program).map(getCommandPath))("olmv1 %s --help says what it is for, with examples of its own", async (path) => {
  const { code, out, err } = await runCli([...path.split(" "), "--help"], { width: 100 });
  expect([code, err]).toEqual([0, ""]);
  const examples =
    /^Examples:\n((?: {2}.*\n)+)/m
      .exec(out)?.[1]
      ?.split("\n")
      .filter((line) => line !== "") ?? [];
  expect(examples.length).toBeGreaterThan(0);
  const own = path.replace(/^bundle rbac$/, "rbac");
  expect(examples.filter((line) => line.includes(`olmv1 ${own}`) || line.includes(`| olmv1 ${own}`)).length).toBeGreaterThan(0);
});

test("no description ends with a full stop, and none is long", () => {
  const found = leavesOf(program).map((command) => [getCommandPath(command), command.description()] as const);
  expect(found.filter(([, text]) => text === "" || text.endsWith(".") || text.length > 130)).toEqual([]);
});
