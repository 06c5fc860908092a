import { messageOf } from "../../pkg/errors/errors.ts";
import type { Logger } from "../../pkg/telemetry/log.ts";

/** Version of all programs, that of package.json. */
export const PROGRAM_VERSION = "0.1.0";

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
      process.stdout.write(`${name} ${PROGRAM_VERSION}\n`);
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

/** Codes with which undici and Node tell of a connection that ended. */
const LOST_CONNECTION = /^(UND_ERR_SOCKET|UND_ERR_INFO|ECONNRESET|EPIPE|ERR_HTTP2_\w+)$/;

/**
 * Keeps a program alive when the end of a connection is told to nobody: rarely, an HTTP/2 connection that breaks under load gives its error
 * to a stream that was done with already. Every request has its own answer or time limit, so nothing waits for it; it is logged, to be found.
 * Every other error that nobody caught ends the program as ever.
 * @see https://github.com/nodejs/undici/issues/5586
 */
export function surviveLostConnections(log: Logger): void {
  process.on("uncaughtException", (err: Error, origin) => {
    const isLost = "code" in err && LOST_CONNECTION.test(String(err.code));
    log[isLost ? "error" : "fatal"]({ err, origin }, isLost ? "connection ended and nobody was told" : "error that nobody caught");
    if (!isLost) process.exit(1);
  });
}
