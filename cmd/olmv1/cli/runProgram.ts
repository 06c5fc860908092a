import { CommanderError } from "commander";
import { olmv1 } from "../olmv1.ts";
import { EXIT } from "./exitCodes.ts";
import { faultFormat, faultText } from "./fault.ts";
import type { CommandTerminal } from "./terminal.ts";

/** What a command that does not end by itself has after Ctrl-C, to leave nothing behind. */
const GRACE_MS = 1_000;

/** Runs the command that arguments name. @param name what the program is called as, for help. @returns the exit code. */
export async function runProgram(args: readonly string[], terminal: CommandTerminal, name = "olmv1"): Promise<number> {
  const { signal } = terminal;
  try {
    await Promise.race([olmv1(terminal, name).parseAsync(args, { from: "user" }), interrupted(terminal)]);
    return signal.aborted && !terminal.isPatient ? EXIT.interrupted : terminal.code;
  } catch (err) {
    if (signal.aborted) return EXIT.interrupted;
    if (err instanceof CommanderError && err.exitCode === 0) return EXIT.yes;
    // Of a command that lacks its subcommand the help has been shown.
    if (!(err instanceof CommanderError && err.code === "commander.help")) terminal.err(await faultText(asFault(err), faultFormat(args)));
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
