import { Command, CommanderError, Help, InvalidArgumentError, Option } from "commander";
import { PROGRAM_VERSION } from "../internal/program.ts";
import { EXIT, formatCommandError, parseErrorFormat } from "./cli/errors.ts";
import type { CommandTerminal, Terminal } from "./cli/terminal.ts";
import { addBackup } from "./options/backup.ts";
import { addBundle, addRbac } from "./options/bundle.ts";
import { addCatalog } from "./options/catalog.ts";
import { addConformance } from "./options/conformance.ts";
import { addCrd } from "./options/crd.ts";
import { addEject } from "./options/eject.ts";
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
import { addPermissions } from "./options/permissions.ts";
import { addClusterUpgradeCheck, addPlan, addResolve, addWhyNot } from "./options/planning.ts";
import { addCompletion, addDev, addDoctor, addUi, addVersion } from "./options/running.ts";

/** Returns the description of an option for the help. Omits an empty default, and a default that the description already contains. */
function optionDescription(option: Option): string {
  const { defaultValue } = option as { defaultValue?: unknown };
  const isEmptyList = Array.isArray(defaultValue) && defaultValue.length === 0;
  const hasOwnText = option.description.includes("(default: ");
  const displayed = isEmptyList || hasOwnText ? Object.assign(new Option(option.flags), option, { defaultValue: undefined }) : option;
  return new Help().optionDescription(displayed);
}

/** Headings of the help, in order. */
const GROUPS = { extensions: "Extensions:", catalogs: "Catalogs and bundles:", running: "Installation and tools:" } as const;
/** Maximum width of the help in columns; also its width if the output is a pipe. */
const HELP_WIDTH = 120;

const PROGRAM_HELP = `
Exit codes:
  0    success
  1    negative result, such as findings or a failed rollout
  2    error
  130  interrupted with Ctrl-C
`;

/**
 * Creates the command line with all commands. Create a new one for each run, because Commander stores what it parsed.
 * It throws CommanderError instead of ending the process.
 */
export function olmv1(terminal: Terminal, name = "olmv1"): Command {
  const program = new Command(name);
  const helpWidth = Math.min(terminal.width, HELP_WIDTH);
  program
    .exitOverride()
    .configureHelp({ optionDescription })
    .configureOutput({
      writeOut: (text) => terminal.out(text),
      writeErr: (text) => terminal.err(text),
      outputError: () => undefined, // the caller prints errors
      getOutHelpWidth: () => helpWidth,
      getErrHelpWidth: () => helpWidth,
      getOutHasColors: () => terminal.colour,
      getErrHasColors: () => terminal.colour,
    })
    .description("Manage Kubernetes operators with Operator Lifecycle Manager v1")
    .version(PROGRAM_VERSION, "--version", "print the version");
  program.hook("preAction", (_, command) => rejectEmptyArguments(command));
  program.enablePositionalOptions(); // lets commands have options with the same names as program options, such as --version

  program.commandsGroup(GROUPS.extensions);
  addInstall(program, terminal);
  addUpgrade(program, terminal);
  addUninstall(program, terminal);
  addEject(program, terminal);
  addApprove(program, terminal);
  addPermissions(program, terminal);
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
  addCrd(program, terminal);
  addBackup(program, terminal);

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
  addUi(program, terminal);
  addDoctor(program, terminal);
  addConformance(program, terminal);
  addVersion(program, terminal);
  addCompletion(program, terminal);
  program.addHelpText("after", PROGRAM_HELP);
  return program;
}

/** Rejects arguments such as `"$NAME"` of a script without this variable. The last word of a completion may be empty. */
function rejectEmptyArguments({ registeredArguments, args }: Command): void {
  for (const [at, argument] of registeredArguments.entries())
    if (args[at] === "" && !argument.variadic) throw new InvalidArgumentError(`argument '${argument.name()}' is empty`);
}

/** Time for a command to clean up after Ctrl-C, unless it ends on its own. */
const GRACE_MS = 1_000;

/** Runs the command in the arguments. @param name of the program in the help. @returns the exit code. */
export async function runCommandLine(args: readonly string[], terminal: CommandTerminal, name = "olmv1"): Promise<number> {
  const { signal } = terminal;
  try {
    await Promise.race([olmv1(terminal, name).parseAsync(args, { from: "user" }), rejectOnInterrupt(terminal)]);
    return signal.aborted && !terminal.handlesSigint ? EXIT.interrupted : terminal.code;
  } catch (err) {
    if (signal.aborted) return EXIT.interrupted;
    if (err instanceof CommanderError && err.exitCode === 0) return EXIT.yes;
    // If the subcommand is missing, the help was printed already.
    if (!(err instanceof CommanderError && err.code === "commander.help"))
      terminal.err(await formatCommandError(toUsageError(err), parseErrorFormat(args)));
    return EXIT.error;
  }
}

/** Converts an error of Commander to the format of other errors. */
function toUsageError(err: unknown): unknown {
  return err instanceof CommanderError
    ? new Error(
        `${err.message
          .replace(/^error: /, "")
          .replaceAll("\n", " ")
          .replace(/\.$/, "")}. See --help`,
      )
    : err;
}

/** Rejects after Ctrl-C and the grace period, unless the command ends on its own. */
function rejectOnInterrupt(terminal: CommandTerminal): Promise<never> {
  return new Promise((_, reject) => {
    const end = (): void => {
      if (!terminal.handlesSigint) setTimeout(() => reject(terminal.signal.reason as Error), GRACE_MS).unref();
    };
    if (terminal.signal.aborted) end();
    else terminal.signal.addEventListener("abort", end, { once: true });
  });
}
