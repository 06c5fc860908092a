import type { Argument, Command, Option } from "commander";

/** What is being typed at the end of a command line. */
export type Position = {
  readonly command: Command;
  /** What of it has been typed. */
  readonly typed: string;
  /** Values of options by their long name, the last of each. */
  readonly given: ReadonlyMap<string, string>;
  /** Words before it that are no options, of the command itself. */
  readonly words: readonly string[];
} & (
  | { readonly kind: "word"; readonly argument: Argument | undefined; readonly index: number }
  | { readonly kind: "option" }
  /** `glue` stands before the value in the same word, such as `--output=`. */
  | { readonly kind: "value"; readonly option: Option; readonly glue: string }
);

/** Where in the command line `words` end. @param words without the program's name; the last is being typed. */
export function positionOf(program: Command, words: readonly string[]): Position {
  const typed = words.at(-1) ?? "";
  let command = program;
  let own: string[] = [];
  const given = new Map<string, string>();
  let pending: Option | undefined;
  let isOver = false;
  for (const word of words.slice(0, -1)) {
    if (pending) {
      given.set(pending.long ?? "", word);
      pending = undefined;
    } else if (isOver || !word.startsWith("-") || word === "-") {
      const sub = own.length === 0 && !isOver ? subcommand(command, word) : undefined;
      command = sub ?? command;
      own = sub ? [] : [...own, word];
    } else if (word === "--") isOver = true;
    else {
      const { option, value } = optionIn(command, word);
      if (value !== undefined) given.set(option?.long ?? "", value);
      else if (option && takesValue(option)) pending = option;
      else if (option) given.set(option.long ?? "", "");
    }
  }
  const at = { command, given, words: own };
  if (pending) return { ...at, typed, kind: "value", option: pending, glue: "" };
  if (!isOver && typed.startsWith("-") && typed !== "-") {
    const { option, value } = optionIn(command, typed);
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

/** Whether an option is followed by a value. */
export function takesValue(option: Option): boolean {
  return option.required || option.optional;
}

function subcommand(command: Command, word: string): Command | undefined {
  return command.commands.find((one) => one.name() === word || one.aliases().includes(word));
}

/** The option that a word is, and the value that is glued to it. */
function optionIn(command: Command, word: string): { option: Option | undefined; value: string | undefined } {
  const long = /^(--[^=]+)(?:=(.*))?$/s.exec(word);
  if (long) return { option: command.options.find((one) => one.long === long[1]), value: long[2] };
  const option = command.options.find(({ short }) => short !== undefined && word.startsWith(short));
  const rest = word.slice(2);
  return { option, value: option && takesValue(option) && rest !== "" ? rest : undefined };
}
