import type { Command } from "commander";
import { PROGRAM_VERSION } from "../internal/program.ts";

/** Wide enough that Commander breaks no lines; man breaks them. */
const WIDTH = 10_000;

/**
 * Returns manual pages of section 1 in man(7) format by file name: one for the program and one for each command.
 * @param program the command line; no command runs.
 */
export function renderManPages(program: Command): Map<string, string> {
  const pages = new Map<string, string>();
  const add = (command: Command, path: readonly string[]): void => {
    const subs = command.commands.filter((one) => !one.name().startsWith("__"));
    pages.set(`${path.join("-")}.1`, manPage(command, path, subs));
    for (const sub of subs) add(sub, [...path, sub.name()]);
  };
  add(program, [program.name()]);
  return pages;
}

function manPage(command: Command, path: readonly string[], subs: readonly Command[]): string {
  const help = command.createHelp();
  const name = path.join("-");
  const after = parseLongHelp(command);
  const sections: [string, string[]][] = [
    ["NAME", [`${text(name)} \\- ${text(command.description())}`]],
    ["SYNOPSIS", [`.B ${text(path.join(" "))}`, text(help.commandUsage(command).slice(path.join(" ").length).trim())]],
    ["ARGUMENTS", terms(help.visibleArguments(command).map((one) => [help.argumentTerm(one), help.argumentDescription(one)]))],
    ["OPTIONS", terms(help.visibleOptions(command).map((one) => [help.optionTerm(one), help.optionDescription(one)]))],
    ["COMMANDS", terms(subs.map((one) => [`${name}-${one.name()}(1)`, one.description()]))],
    ["NOTES", paragraphs(after.notes)],
    ["EXAMPLES", after.examples === "" ? [] : [".nf", ...after.examples.split("\n").map(text), ".fi"]],
    ["EXIT STATUS", terms(after.exitCodes)],
    ["SEE ALSO", path.length > 1 ? [text(`${path.slice(0, -1).join("-")}(1)`)] : []],
  ];
  const body = sections.flatMap(([title, lines]) => (lines.length === 0 ? [] : [`.SH ${title}`, ...lines]));
  return [`.TH ${text(name.toUpperCase())} 1 "" "olmv1 ${text(PROGRAM_VERSION)}" "olmv1"`, ...body, ""].join("\n");
}

/** The text after the options of a command's help, in parts. */
export interface LongHelp {
  readonly notes: string;
  /** One command per line. */
  readonly examples: string;
  /** Codes with their meanings. */
  readonly exitCodes: readonly (readonly [code: string, meaning: string])[];
}

/** Returns the text after the options of a command's help. */
export function parseLongHelp(command: Command): LongHelp {
  let whole = "";
  command.configureOutput({ writeOut: (piece) => void (whole += piece), getOutHelpWidth: () => WIDTH, getOutHasColors: () => false });
  command.outputHelp();
  const own = whole.slice(command.helpInformation().length);
  const [beforeCodes = "", exitCodes = ""] = own.split(/^Exit codes:$/m);
  const [notes = "", examples = ""] = beforeCodes.split(/^Examples:$/m);
  const unindented = examples.replaceAll(/^ {2}/gm, "").trim();
  const codes = [...exitCodes.matchAll(/^ {2}(\d+) +(.*)$/gm)].map(([, code = "", meaning = ""]) => [code, meaning] as const);
  return { notes: notes.trim(), examples: unindented, exitCodes: codes };
}

function paragraphs(prose: string): string[] {
  if (prose === "") return [];
  return prose.split(/\n{2,}/).flatMap((paragraph, i) => [...(i === 0 ? [] : [".PP"]), ...paragraph.split("\n").map(text)]);
}

function terms(rows: readonly (readonly [string, string])[]): string[] {
  return rows.flatMap(([term, meaning]) => [".TP", `.B ${text(term)}`, ...meaning.split("\n").map(text)]);
}

/** Escapes text for man(7): a dot or quote at the start of a line, backslashes, and hyphens, which man would print as typographic hyphens. */
function text(line: string): string {
  const escaped = line.replaceAll("\\", "\\e").replaceAll("-", "\\-");
  return /^[.']/.test(escaped) ? `\\&${escaped}` : escaped;
}
