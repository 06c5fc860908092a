import type { Command } from "commander";
import { describe, expect, test } from "vitest";
import { findBannedPhrases } from "../../../test/docs/plainWords.ts";
import { runCli } from "../../../test/support/runCli.ts";
import { flagHelp as catalogdFlags } from "../../catalogd/flags.ts";
import { flagHelp as operatorControllerFlags } from "../../operator-controller/flags.ts";
import { CommandTerminal } from "../cli/terminal.ts";
import { parseLongHelp } from "../manPages.ts";
import { olmv1 } from "../program.ts";
import { getCommandPath } from "./completion/complete.ts";

const DESCRIPTION_MAX = 80;
const EXAMPLES_MAX = 4;
/** Columns of the long help, except examples. */
const LINE_MAX = 110;

const program = olmv1(new CommandTerminal({ out: () => undefined, err: () => undefined }));
const commands = listCommands(program);
const runnable = commands.filter(({ commands: subs, registeredArguments }) => subs.length === 0 || registeredArguments.length > 0);

/** Returns all commands that are not hidden, in the order of the help. */
function listCommands(command: Command): Command[] {
  const subs = command.commands.filter((one) => !one.name().startsWith("__"));
  return subs.flatMap((sub) => [sub, ...listCommands(sub)]);
}

/** Returns the descriptions of arguments and options of all commands and the flags of both servers, with their places. */
function listTerms(): { at: string; text: string }[] {
  const own = commands.flatMap((command) => {
    const help = command.createHelp();
    const terms = [
      ...help.visibleArguments(command).map((argument) => ({ name: argument.name(), text: argument.description })),
      ...help.visibleOptions(command).map((option) => ({ name: option.flags, text: option.description })),
    ];
    return terms.map(({ name, text }) => ({ at: `${getCommandPath(command)} ${name}`, text }));
  });
  const servers = { catalogd: catalogdFlags(), "operator-controller": operatorControllerFlags() };
  const flags = Object.entries(servers).flatMap(([server, all]) =>
    all.map(({ name, description }) => ({ at: `${server} --${name}`, text: description })),
  );
  return [...own, ...flags];
}

test.for(runnable.map(getCommandPath))("olmv1 %s --help has examples of the command", async (path) => {
  const { code, out, err } = await runCli([...path.split(" "), "--help"], { width: 100 });
  expect([code, err]).toEqual([0, ""]);
  const [, examples = ""] = /^Examples:\n((?: {2}.*\n)+)/m.exec(out) ?? [];
  const own = path.replace(/^bundle rbac$/, "rbac");
  const lines = examples.split("\n").filter((line) => line.includes(`olmv1 ${own}`));
  expect(lines.length).toBeGreaterThan(0);
});

describe("descriptions of commands", () => {
  const descriptions = [program, ...commands].map((command) => [getCommandPath(command), command.description()] as const);

  test(`command descriptions have at most ${DESCRIPTION_MAX} characters`, () => {
    expect(descriptions.filter(([, text]) => text === "" || text.length > DESCRIPTION_MAX)).toEqual([]);
  });

  test("command descriptions start with an upper-case letter and have no final full stop", () => {
    expect(descriptions.filter(([, text]) => !/^[A-Z].*[^.]$/.test(text))).toEqual([]);
  });

  test("command descriptions start with a verb in the imperative", () => {
    expect(descriptions.filter(([, text]) => !/^[A-Z][a-z]*[a-rt-z],? /.test(text))).toEqual([]);
  });
});

describe("descriptions of options, arguments and flags", () => {
  const terms = listTerms();

  test("option descriptions have no final full stop, and mention a default only as (default: x) at the end", () => {
    const isWrong = (text: string): boolean =>
      text === "" || text.endsWith(".") || /\bdefault: /.test(text.replace(/ \(default: [^()]*(?:\([^()]*\))?[^()]*\)$/, ""));
    expect(terms.filter(({ text }) => isWrong(text))).toEqual([]);
  });

  test("option descriptions start with a lower-case letter unless the first word is a name", () => {
    const isName = /^(?:[A-Z]\w*[A-Z]|Secrets?\b|Subscriptions\b)/;
    expect(terms.filter(({ text }) => !/^[a-z(-]/.test(text) && !isName.test(text))).toEqual([]);
  });
});

describe("long help", () => {
  const helps = [program, ...commands].map((command) => ({ path: getCommandPath(command), ...parseLongHelp(command) }));

  test(`long help has at most ${EXAMPLES_MAX} examples`, () => {
    const counts = helps.map(({ path, examples }) => [path, examples.split("\n").filter((line) => line !== "").length] as const);
    expect(counts.filter(([, count]) => count > EXAMPLES_MAX)).toEqual([]);
  });

  test(`lines of long help have at most ${LINE_MAX} columns`, () => {
    const lines = helps.flatMap(({ path, notes }) => notes.split("\n").map((line) => `${path}: ${line}`));
    expect(lines.filter((line) => line.length - line.indexOf(": ") - 2 > LINE_MAX)).toEqual([]);
  });

  test("long help lists exit codes in ascending order, one per line", () => {
    const isSorted = (codes: readonly number[]): boolean => codes.every((code, i) => i === 0 || code > (codes[i - 1] ?? 0));
    expect(helps.filter(({ exitCodes }) => !isSorted(exitCodes.map(([code]) => Number(code))))).toEqual([]);
    expect(helps.filter(({ notes, examples }) => /Exit codes?/i.test(notes + examples)).map(({ path }) => path)).toEqual([]);
  });

  test("long help and descriptions contain no banned phrase", () => {
    const texts = [
      ...helps.map(({ path, notes, exitCodes }) => ({ at: path, text: [notes, ...exitCodes.flat()].join("\n") })),
      ...commands.map((command) => ({ at: getCommandPath(command), text: command.description() })),
      ...listTerms(),
    ];
    expect(texts.flatMap(({ at, text }) => findBannedPhrases(text).map((finding) => `${at}: ${finding}`))).toEqual([]);
  });
});
