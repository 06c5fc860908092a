import { Command, CommanderError, Help, Option } from "commander";
import { PROGRAM_VERSION } from "../internal/program.ts";
import { EXIT, errorFormat, formatCommandError } from "./cli/errors.ts";
import type { CommandTerminal, Terminal } from "./cli/terminal.ts";
import { addBundle, addRbac } from "./options/bundle.ts";
import { addCatalog } from "./options/catalog.ts";
import {
  addApprove,
  addDescribe,
  addEvents,
  addGet,
  addHistory,
  addInstall,
  addList,
  addRollback,
  addTree,
  addUninstall,
  addUpgrade,
} from "./options/extensions.ts";
import { addMigrate } from "./options/migrate.ts";
import { addGraph, addSearch, addShow, addVersions } from "./options/packages.ts";
import { addClusterUpgradeCheck, addPlan, addResolve, addWhyNot } from "./options/planning.ts";
import { addCompletion, addDev, addDoctor } from "./options/running.ts";

/** What help says of an option: nothing of a list that is empty unless it is given, nor of a default that the description tells itself. */
function optionDescription(option: Option): string {
  const { defaultValue } = option as { defaultValue?: unknown };
  const isEmptyList = Array.isArray(defaultValue) && defaultValue.length === 0;
  const isTold = option.description.includes("(default: ") || option.description.includes("; default: ");
  const shown = isEmptyList || isTold ? Object.assign(new Option(option.flags), option, { defaultValue: undefined }) : option;
  return new Help().optionDescription(shown);
}

/** Headings of the help, in its order. */
const GROUPS = { extensions: "Extensions of a cluster:", catalogs: "Catalogs and bundles:", running: "Running it:" } as const;
/** What help has where a terminal has no end, as in a pipe. */
const HELP_WIDTH = 120;

/** The command line with all of its commands, fresh for each caller: commander keeps what it has parsed. It throws CommanderError instead of ending the process. */
export function olmv1(terminal: Terminal, name = "olmv1"): Command {
  const program = new Command(name);
  const helpWidth = Math.min(terminal.width, HELP_WIDTH);
  program
    .exitOverride()
    .configureHelp({ optionDescription })
    .configureOutput({
      writeOut: (text) => terminal.out(text),
      writeErr: (text) => terminal.err(text),
      outputError: () => undefined, // whoever runs the program tells errors
      getOutHelpWidth: () => helpWidth,
      getErrHelpWidth: () => helpWidth,
      getOutHasColors: () => terminal.colour,
      getErrHasColors: () => terminal.colour,
    })
    .description("Operator Lifecycle Manager v1: extensions of clusters, and their catalogs and bundles")
    .version(PROGRAM_VERSION, "--version", "print the version");
  program.enablePositionalOptions(); // a command may have an option of the program's name, as --version

  program.commandsGroup(GROUPS.extensions);
  addInstall(program, terminal);
  addUpgrade(program, terminal);
  addUninstall(program, terminal);
  addApprove(program, terminal);
  addList(program, terminal);
  addGet(program, terminal);
  addDescribe(program, terminal);
  addEvents(program, terminal);
  addHistory(program, terminal);
  addPlan(program, terminal);
  addRollback(program, terminal);
  addTree(program, terminal);
  addResolve(program, terminal);
  addWhyNot(program, terminal);
  addClusterUpgradeCheck(program, terminal);
  addMigrate(program, terminal);

  program.commandsGroup(GROUPS.catalogs);
  addSearch(program, terminal);
  addShow(program, terminal);
  addVersions(program, terminal);
  addGraph(program, terminal);
  addCatalog(program, terminal);
  addBundle(program, terminal);
  addRbac(program, terminal);

  program.commandsGroup(GROUPS.running);
  addDev(program, terminal);
  addDoctor(program, terminal);
  addCompletion(program, terminal);
  return program;
}

/** What a command that does not end by itself has after Ctrl-C, to leave nothing behind. */
const GRACE_MS = 1_000;

/** Runs the command that arguments name. @param name what the program is called as, for help. @returns the exit code. */
export async function runCommandLine(args: readonly string[], terminal: CommandTerminal, name = "olmv1"): Promise<number> {
  const { signal } = terminal;
  try {
    await Promise.race([olmv1(terminal, name).parseAsync(args, { from: "user" }), interrupted(terminal)]);
    return signal.aborted && !terminal.isPatient ? EXIT.interrupted : terminal.code;
  } catch (err) {
    if (signal.aborted) return EXIT.interrupted;
    if (err instanceof CommanderError && err.exitCode === 0) return EXIT.yes;
    // Of a command that lacks its subcommand the help has been shown.
    if (!(err instanceof CommanderError && err.code === "commander.help")) terminal.err(await formatCommandError(asFault(err), errorFormat(args)));
    return EXIT.error;
  }
}

/** What was wrong with the arguments, in the words that other errors have. */
function asFault(err: unknown): unknown {
  return err instanceof CommanderError
    ? new Error(
        `${err.message
          .replace(/^error: /, "")
          .replaceAll("\n", " ")
          .replace(/\.$/, "")}; --help tells more`,
      )
    : err;
}

/** Rejects once a command that does not end by itself has had its time after Ctrl-C. */
function interrupted(terminal: CommandTerminal): Promise<never> {
  return new Promise((_, reject) => {
    const end = (): void => {
      if (!terminal.isPatient) setTimeout(() => reject(terminal.signal.reason as Error), GRACE_MS).unref();
    };
    if (terminal.signal.aborted) end();
    else terminal.signal.addEventListener("abort", end, { once: true });
  });
}
