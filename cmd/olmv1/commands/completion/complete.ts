import type { Argument, Command, Option } from "commander";
import type { Terminal } from "../../cli/terminal.ts";
import { ARGUMENT_KINDS, type NameKind, OPTION_KINDS } from "./kinds.ts";

/** Splits a shell line up to the cursor into words without quotes. The last word is incomplete; it is empty after a space. */
export function splitLine(line: string): string[] {
  const words: string[] = [];
  let word = "";
  let isInWord = false;
  let quote = "";
  for (let at = 0; at < line.length; at++) {
    const char = line.charAt(at);
    if (quote === "'") {
      if (char === quote) quote = "";
      else word += char;
    } else if (char === "\\" && at + 1 < line.length) {
      word += line.charAt(++at);
      isInWord = true;
    } else if (char === quote) quote = "";
    else if (quote === "" && (char === '"' || char === "'")) {
      quote = char;
      isInWord = true;
    } else if (quote === "" && /\s/.test(char)) {
      if (isInWord) words.push(word);
      word = "";
      isInWord = false;
    } else {
      word += char;
      isInWord = true;
    }
  }
  return [...words, word];
}

/** Returns the length of the prefix that bash keeps: up to the last character at which bash breaks words. */
export function getKeptLength(word: string, breaks: string): number {
  const at = Array.from(breaks)
    .filter((char) => !/\s/.test(char))
    .map((char) => word.lastIndexOf(char));
  return Math.max(-1, ...at) + 1;
}

/** The incomplete word at the end of a command line. */
type Position = {
  readonly command: Command;
  /** The typed part. */
  readonly typed: string;
  /** Last value of each option, by long name. */
  readonly given: ReadonlyMap<string, string>;
  /** Arguments of the command before it. */
  readonly words: readonly string[];
} & (
  | { readonly kind: "word"; readonly argument: Argument | undefined; readonly index: number }
  | { readonly kind: "option" }
  /** `glue` is the part of the word before the value, such as `--output=`. */
  | { readonly kind: "value"; readonly option: Option; readonly glue: string }
);

/** Parses a command line up to the cursor. @param words without the name of the program; the last is incomplete. */
function parsePosition(program: Command, words: readonly string[]): Position {
  const typed = words.at(-1) ?? "";
  let command = program;
  let own: string[] = [];
  const given = new Map<string, string>();
  let pending: Option | undefined;
  let afterDashes = false;
  for (const word of words.slice(0, -1)) {
    if (pending) {
      given.set(pending.long ?? "", word);
      pending = undefined;
    } else if (afterDashes || !word.startsWith("-") || word === "-") {
      const sub = own.length === 0 && !afterDashes ? findSubcommand(command, word) : undefined;
      command = sub ?? command;
      own = sub ? [] : [...own, word];
    } else if (word === "--") afterDashes = true;
    else {
      const { option, value } = parseOption(command, word);
      if (value !== undefined) given.set(option?.long ?? "", value);
      else if (option && takesValue(option)) pending = option;
      else if (option) given.set(option.long ?? "", "");
    }
  }
  const at = { command, given, words: own };
  if (pending) return { ...at, typed, kind: "value", option: pending, glue: "" };
  if (!afterDashes && typed.startsWith("-") && typed !== "-") {
    const { option, value } = parseOption(command, typed);
    if (option && value !== undefined && takesValue(option))
      return { ...at, typed: value, kind: "value", option, glue: typed.slice(0, typed.length - value.length) };
    return { ...at, typed, kind: "option" };
  }
  const last = command.registeredArguments.length - 1;
  const argument =
    command.registeredArguments[own.length] ??
    (command.registeredArguments[last]?.variadic ? command.registeredArguments[last] : undefined);
  return { ...at, typed, kind: "word", argument, index: Math.min(own.length, Math.max(last, 0)) };
}

/** Returns whether an option takes a value. */
function takesValue(option: Option): boolean {
  return option.required || option.optional;
}

function findSubcommand(command: Command, word: string): Command | undefined {
  return command.commands.find((one) => one.name() === word || one.aliases().includes(word));
}

/** Returns the option of a word, and the value in the same word. */
function parseOption(command: Command, word: string): { option: Option | undefined; value: string | undefined } {
  const long = /^(--[^=]+)(?:=(.*))?$/s.exec(word);
  if (long) return { option: command.options.find((one) => one.long === long[1]), value: long[2] };
  const option = command.options.find(({ short }) => short !== undefined && word.startsWith(short));
  const rest = word.slice(2);
  return { option, value: option && takesValue(option) && rest !== "" ? rest : undefined };
}

/** A completion. */
interface Proposal {
  readonly word: string;
  readonly help?: string;
}

/** Completions: known words, and the kind of names to look up. */
interface Proposals {
  readonly proposals: readonly Proposal[];
  readonly kind: NameKind;
}

/** Returns the completions at a position, without filtering by the typed part. */
function listProposals(position: Position): Proposals {
  const { command, given } = position;
  switch (position.kind) {
    case "option":
      return { proposals: listOptions(command, given), kind: "free" };
    case "value": {
      const { option, glue } = position;
      const words = (option.argChoices ?? []).map((word) => ({ word: glue + word.replace(/<.*$/, "") }));
      const kind = words.length > 0 ? "free" : (OPTION_KINDS[option.long ?? ""] ?? "free");
      return { proposals: words, kind };
    }
    case "word":
    default: {
      const commands = position.words.length === 0 ? command.commands.filter((one) => !one.name().startsWith("__")) : [];
      const words = [
        ...commands.map((one) => ({ word: one.name(), help: one.description() })),
        ...(position.argument?.argChoices ?? []).map((word) => ({ word })),
      ];
      const kinds = ARGUMENT_KINDS[getCommandPath(command)] ?? [];
      return { proposals: words, kind: position.argument ? (kinds[position.index] ?? kinds.at(-1) ?? "free") : "free" };
    }
  }
}

/** Returns the words of a command without the program, such as `bundle validate`. */
export function getCommandPath(command: Command): string {
  const names: string[] = [];
  for (let one = command; one.parent; one = one.parent) names.unshift(one.name());
  return names.join(" ");
}

function listOptions(command: Command, given: ReadonlyMap<string, string>): Proposal[] {
  const help = command.createHelp();
  return help
    .visibleOptions(command)
    .filter(
      ({ long, variadic, parseArg, defaultValue }) =>
        !given.has(long ?? "") || variadic || (parseArg !== undefined && Array.isArray(defaultValue)),
    )
    .flatMap(({ long, description }) => (long === undefined ? [] : [{ word: long, help: description }]));
}

/** Options of `olmv1 __complete`. */
export interface CompleteOptions {
  line?: string;
  breaks: string;
}

/** Flags for the shell, combined into a number. @see github.com/spf13/cobra ShellCompDirective */
const DIRECTIVE = { none: 0, noSpace: 2, noFiles: 4, onlyFolders: 16 } as const;

/** Runs `olmv1 __complete`: prints a completion per line, with a tab and its help; then `:` and the directive. */
export async function complete(
  terminal: Pick<Terminal, "out" | "env">,
  program: Command,
  given: readonly string[],
  options: CompleteOptions,
): Promise<void> {
  const words = options.line === undefined ? given : splitLine(options.line).slice(1);
  const position = parsePosition(program, words);
  const { proposals, kind } = listProposals(position);
  const found = [...proposals, ...(await lookUpNames(kind, position, terminal.env))];
  const typed = (position.kind === "value" ? position.glue : "") + position.typed;
  const matching = found.filter(({ word }) => word.startsWith(typed));
  const kept = getKeptLength(words.at(-1) ?? "", options.breaks);
  const lines = matching.map(({ word, help }) => [word.slice(kept), ...(help ? [firstLine(help)] : [])].join("\t"));
  terminal.out([...lines, `:${directiveFor(kind, matching)}`, ""].join("\n"));
}

/**
 * Matches names that are not options and have no special meaning in a shell. Other names are not proposed, because the shell inserts names unchanged.
 */
const PLAIN = /^[\w.:@/+][\w.:@/+-]*$/;
/** Kinds that are looked up in a folder. */
const IN_FOLDER = new Set<NameKind>(["catalogPackage", "catalogChannel", "catalogBundle"]);
/** Kinds that are not looked up. */
const NOT_LOOKED_UP = new Set<NameKind>(["file", "folder", "free"]);

async function lookUpNames(kind: NameKind, position: Position, env: Terminal["env"]): Promise<Proposal[]> {
  if (NOT_LOOKED_UP.has(kind)) return [];
  const { given, words } = position;
  if (IN_FOLDER.has(kind)) {
    const { listCatalogNames } = await import("./catalogNames.ts");
    const names = await listCatalogNames(kind, words[0] ?? ".", words[1]);
    return names.filter((name) => PLAIN.test(name)).map((word) => ({ word }));
  }
  const of = (name: string): string | undefined => given.get(name);
  const [kubeconfig, context, namespace] = [of("--kubeconfig"), of("--context"), of("--namespace")];
  if (kind === "package") {
    const { listCachedPackageNames } = await import("./packageNames.ts");
    const names = await listCachedPackageNames(env, { kubeconfig, context, catalogDir: of("--catalog-dir") });
    return names.filter((name) => PLAIN.test(name)).map((name) => ({ word: (position.kind === "value" ? position.glue : "") + name }));
  }
  const { listClusterNames } = await import("./clusterNames.ts"); // slow to load
  const names = await listClusterNames(kind, {
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(context === undefined ? {} : { context }),
    ...(namespace === undefined ? {} : { namespace }),
  });
  const glue = position.kind === "value" ? position.glue : "";
  return names.filter((name) => PLAIN.test(name)).map((name) => ({ word: glue + name }));
}

function directiveFor(kind: NameKind, found: readonly Proposal[]): number {
  if (kind === "folder") return DIRECTIVE.onlyFolders;
  if (kind === "file") return DIRECTIVE.none;
  return DIRECTIVE.noFiles + (found.length === 1 && found[0]?.word.endsWith("=") ? DIRECTIVE.noSpace : 0);
}

function firstLine(help: string): string {
  return help.replaceAll(/\s+/g, " ").trim();
}
