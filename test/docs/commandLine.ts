import type { Command } from "commander";
import { CommandTerminal } from "../../cmd/olmv1/cli/terminal.ts";
import { getCommandPath } from "../../cmd/olmv1/commands/completion/complete.ts";
import { parseLongHelp } from "../../cmd/olmv1/manPages.ts";
import { olmv1 } from "../../cmd/olmv1/program.ts";

/** Returns the command line with commands that only parse their arguments. */
export function idleCommandLine(): Command {
  const program = olmv1(new CommandTerminal({ out: () => undefined, err: () => undefined }));
  for (const command of withAllBelow(program)) if (isRunnable(command)) command.action(() => undefined);
  return program;
}

function withAllBelow(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withAllBelow)];
}

/** Whether the command can run: it has no subcommands, or has arguments of its own. */
function isRunnable({ commands, registeredArguments }: Command): boolean {
  return commands.length === 0 || registeredArguments.length > 0;
}

/** Returns the problem of a whole command line according to the declaration of its command: unknown words, invalid values, missing arguments. */
export async function commandLineProblem(args: readonly string[]): Promise<string | undefined> {
  try {
    await idleCommandLine().parseAsync([...args], { from: "user" });
    return undefined;
  } catch (error) {
    const { message, exitCode } = error as { message: string; exitCode?: number };
    return exitCode === 0 ? undefined : message; // 0: help was requested
  }
}

/** Returns the problem of a command in prose, such as `why-not` or `rbac --user-roles`: the command or an option does not exist. */
export function namedCommandProblem(program: Command, words: readonly string[]): string | undefined {
  let command = program;
  for (const word of words) {
    const [name = ""] = word.split("|"); // `edge add|remove` stands for two commands
    const sub = command.commands.find((one) => one.name() === name);
    if (word.startsWith("-")) {
      const option = word.replace(/=.*$/, "");
      if (!listOptions(command).has(option)) return `${command.name()} has no option ${option}`;
    } else if (!sub && command.commands.length > 0 && !isRunnable(command)) return `${command.name()} has no command ${word}`;
    command = sub ?? command;
  }
  return undefined;
}

/** Returns long and short forms of every option of a command and its subcommands. */
export function listOptions(command: Command): Set<string> {
  return new Set(
    withAllBelow(command).flatMap((one) => {
      const options = one.createHelp().visibleOptions(one);
      return options.flatMap(({ short, long }) => [short ?? "", long ?? ""]);
    }),
  );
}

/** Returns the examples in the help of every command, by its path. */
export function commandExamples(): { path: string; text: string }[] {
  const commands = withAllBelow(olmv1(new CommandTerminal({ out: () => undefined, err: () => undefined })));
  return commands.map((command) => ({ path: getCommandPath(command), text: parseLongHelp(command).examples }));
}
