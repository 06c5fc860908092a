import { messageOf } from "../pkg/errors/errors.ts";
import { VERSION } from "./version.ts";

/** What a server program consists of. */
export interface Program<Flags> {
  name: string;
  /** @throws Error that names each wrong flag. */
  parseFlags: (args: string[]) => Flags | "help";
  /** What `--help` prints. */
  usage: () => string;
  /** Ends when the program is to end. */
  run: (flags: Flags) => Promise<void>;
}

/** Runs a program with the process's arguments, or prints its version when their first word asks for it; a failure is one line on standard error and exit code 1. */
export async function runProgram<Flags>({ name, parseFlags, usage, run }: Program<Flags>): Promise<void> {
  try {
    const args = process.argv.slice(2);
    if (args[0] === "version") {
      process.stdout.write(`${name} ${VERSION}\n`);
      return;
    }
    const flags = parseFlags(args);
    if (flags === "help") process.stdout.write(usage());
    else await run(flags);
  } catch (err) {
    process.stderr.write(`${name}: ${messageOf(err)}\n`);
    process.exit(1);
  }
}
