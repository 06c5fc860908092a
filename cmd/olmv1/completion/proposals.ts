import type { Command } from "commander";
import { ARGUMENT_KINDS, type NameKind, OPTION_KINDS } from "./kinds.ts";
import type { Position } from "./position.ts";

/** One way to go on. */
export interface Proposal {
  readonly word: string;
  readonly help?: string;
}

/** What can follow: words that are known, and names of a kind that have to be looked up. */
export interface Proposals {
  readonly proposals: readonly Proposal[];
  readonly kind: NameKind;
}

/** What can stand at a position, before it is known which of it begins as was typed. */
export function proposalsAt(position: Position): Proposals {
  const { command, given } = position;
  switch (position.kind) {
    case "option":
      return { proposals: optionsOf(command, given), kind: "free" };
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
      const kinds = ARGUMENT_KINDS[pathOf(command)] ?? [];
      return { proposals: words, kind: position.argument ? (kinds[position.index] ?? kinds.at(-1) ?? "free") : "free" };
    }
  }
}

/** The words of a command, without the program's: `bundle validate`. */
export function pathOf(command: Command): string {
  const names: string[] = [];
  for (let one = command; one.parent; one = one.parent) names.unshift(one.name());
  return names.join(" ");
}

function optionsOf(command: Command, given: ReadonlyMap<string, string>): Proposal[] {
  const help = command.createHelp();
  return help
    .visibleOptions(command)
    .filter(
      ({ long, variadic, parseArg, defaultValue }) =>
        !given.has(long ?? "") || variadic || (parseArg !== undefined && Array.isArray(defaultValue)),
    )
    .flatMap(({ long, description }) => (long === undefined ? [] : [{ word: long, help: description }]));
}
