import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { STOP_WITH_STDIN } from "../controller/shutdown.ts";

/** One line that a server logged: pino's JSON. */
export type LogLine = { msg?: string; level?: number } & Record<string, unknown>;

/** How a server is started. */
export interface ServerOptions {
  name: "catalogd" | "operator-controller";
  args: readonly string[];
  /** Folder of bundled programs to run; without it those beside this one, in a checkout the sources. */
  programs?: string | undefined;
  /** Environment variables beside those of this process. */
  env?: Readonly<Record<string, string>> | undefined;
  /** The full log goes here. */
  logFile: string;
  onLine: (line: LogLine) => void;
  /** Told when the server ends without having been asked to. */
  onExit: (text: string) => void;
}

const STOP_TIMEOUT_MS = 10_000;
const TAIL_LINES = 20;

/** One of our servers as the separate process it is in production; it ends when this process does, however that happens. */
export class ServerProcess {
  readonly #child: ChildProcess;
  #stopping = false;
  #ended: string | undefined;

  constructor(options: ServerOptions) {
    const { name, args, programs, env, logFile, onLine, onExit } = options;
    this.#child = spawn(process.execPath, [programOf(name, programs), ...args], {
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...process.env, ...env, [STOP_WITH_STDIN]: "1" },
    });
    const file = createWriteStream(logFile, { flags: "a" });
    const tail: string[] = [];
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (!stream) continue;
      createInterface({ input: stream }).on("line", (line) => {
        file.write(`${line}\n`);
        tail.push(line);
        if (tail.length > TAIL_LINES) tail.shift();
        const parsed = parse(line);
        if (parsed) onLine(parsed);
      });
    }
    this.#child.once("exit", (code, signal) => {
      file.end();
      this.#ended = `${name} ended unexpectedly (${signal ?? `exit code ${code}`}); its last lines:\n${tail.join("\n")}`;
      if (!this.#stopping) onExit(this.#ended);
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Why and how the server ended; undefined while it runs. */
  get ended(): string | undefined {
    return this.#ended;
  }

  /** Asks the server to stop and waits; kills it after ten seconds. */
  async stop(): Promise<void> {
    this.#stopping = true;
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGTERM");
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), STOP_TIMEOUT_MS);
    await ended;
    clearTimeout(timer);
  }
}

function parse(line: string): LogLine | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as LogLine) : undefined;
  } catch {
    return undefined;
  }
}

/** Beside a bundled CLI stand the bundled servers; in a checkout the sources run as they are. */
function programOf(name: string, programs: string | undefined): string {
  const bundled = join(programs ?? import.meta.dirname, `${name}.js`);
  return programs !== undefined || existsSync(bundled) ? bundled : join(import.meta.dirname, "../../cmd", name, "main.ts");
}
