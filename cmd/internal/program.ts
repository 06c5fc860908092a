import { getErrorMessage } from "../../pkg/errors/errors.ts";
import type { Logger } from "../../pkg/telemetry/log.ts";

/** Version of all programs; equals the version in package.json. */
export const PROGRAM_VERSION = "0.1.0";

/** The parts of a server program. */
export interface Program<Flags> {
  name: string;
  /** @throws Error that lists each invalid flag. */
  parseFlags: (args: string[]) => Flags | "help";
  /** Returns the text for `--help`. */
  usage: () => string;
  /** Runs until the program must stop. */
  run: (flags: Flags) => Promise<void>;
}

/**
 * Runs a program with the process's arguments, or prints its version if the first argument is `version`. Prints a failure as one line on standard
 * error and exits with 1.
 */
export async function runProgram<Flags>({ name, parseFlags, usage, run }: Program<Flags>): Promise<void> {
  try {
    const args = process.argv.slice(2);
    if (args[0] === "version") {
      process.stdout.write(`${name} ${PROGRAM_VERSION}\n`);
      return;
    }
    const flags = parseFlags(args);
    if (flags === "help") process.stdout.write(usage());
    else await run(flags);
  } catch (err) {
    process.stderr.write(`${name}: ${getErrorMessage(err)}\n`);
    process.exit(1);
  }
}

/** Error codes of undici and Node.js for a closed connection. */
const LOST_CONNECTION = /^(UND_ERR_SOCKET|UND_ERR_INFO|UND_ERR_DESTROYED|ECONNRESET|EPIPE|ERR_HTTP2_\w+)$/;

/**
 * Keeps the program running after an uncaught connection error, which is only logged. In rare cases, an HTTP/2 connection that breaks under load
 * reports its error to a stream that has already ended; when the program stops, also a connection whose request was aborted before its response. No
 * request depends on that error, because each has its own response or time limit. Other uncaught errors still terminate the program.
 * @see https://github.com/nodejs/undici/issues/5586
 */
export function ignoreConnectionResets(log: Logger): void {
  process.on("uncaughtException", (err: Error, origin) => {
    const isLost = "code" in err && LOST_CONNECTION.test(String(err.code));
    log[isLost ? "error" : "fatal"]({ err, origin }, isLost ? "uncaught connection error, continuing" : "uncaught error");
    if (!isLost) process.exit(1);
  });
}
