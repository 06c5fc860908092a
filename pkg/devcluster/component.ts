import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Binary } from "./binaries.ts";
import { buildGuardCommand } from "./processes.ts";

/** How to run one server of the control plane. */
export interface ComponentSpec {
  readonly name: string;
  readonly binary: Binary;
  readonly args: readonly string[];
  /** File for appending standard output and error. */
  readonly logFile: string;
  /** Returns true when the server responds. Called every 50 ms; a rejection counts as false. */
  readonly ready: (signal: AbortSignal) => Promise<boolean>;
}

const LOG_TAIL_LINES = 20;
const PROBE_INTERVAL_MS = 50;
const STOP_TIMEOUT_MS = 3000;

/**
 * A running server. Its standard input is a pipe that this process keeps open and never writes to: when this process ends for any reason, the kernel
 * closes the pipe and the server ends.
 */
export class Component {
  readonly spec: ComponentSpec;
  readonly #child: ChildProcess;
  readonly #ended: Promise<string>;
  #end: string | undefined;

  private constructor(spec: ComponentSpec, child: ChildProcess) {
    this.spec = spec;
    this.#child = child;
    const { promise, resolve } = Promise.withResolvers<string>();
    child.once("error", (err) => resolve(`cannot be started: ${err.message}`));
    child.once("exit", (code, signal) => resolve(signal === null ? `exited with code ${code}` : `was terminated by ${signal}`));
    this.#ended = promise.then((end) => {
      this.#end = end;
      return end;
    });
    child.stdin?.on("error", () => undefined);
    child.unref();
  }

  /** Starts the server and returns immediately; `ready` waits for it. */
  static start(spec: ComponentSpec): Component {
    const { path, watchesStdin } = spec.binary;
    const [command, args] = watchesStdin ? [path, [...spec.args]] : buildGuardCommand(path, spec.args);
    const log = openSync(spec.logFile, "a");
    try {
      const child = spawn(command, args, { stdio: ["pipe", log, log], env: environment(watchesStdin) });
      return new Component(spec, child);
    } finally {
      closeSync(log);
    }
  }

  /** How the process ended; undefined while it is running. */
  get end(): string | undefined {
    return this.#end;
  }

  /** Process id; undefined if it could not be started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /**
   * @throws Error with the last lines of the log if the server ends or does not respond within
   * `timeoutMs`.
   */
  async ready(timeoutMs: number): Promise<void> {
    const deadline = AbortSignal.timeout(timeoutMs);
    while (!deadline.aborted) {
      if (this.#end !== undefined) throw new Error(await this.#failure(this.#end));
      if (await this.spec.ready(deadline).catch(() => false)) return;
      await sleep(PROBE_INTERVAL_MS);
    }
    throw new Error(await this.#failure(`was not ready within ${timeoutMs / 1000} s`));
  }

  /** Stops the process and waits until it has ended: closes its standard input, and kills it after 3 s. */
  async stop(): Promise<void> {
    this.#child.ref();
    this.#child.stdin?.destroy();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), STOP_TIMEOUT_MS);
    await this.#ended;
    clearTimeout(timer);
  }

  async #failure(what: string): Promise<string> {
    const text = await readFile(this.spec.logFile, "utf8").catch(() => "");
    const tail = text.trimEnd().split("\n").slice(-LOG_TAIL_LINES);
    return `${this.spec.name} ${what}; the end of ${this.spec.logFile}:\n  ${tail.join("\n  ")}`;
  }
}

/** Removes proxies and settings of another cluster from the servers' environment. */
function environment(watchesStdin: boolean): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR } = process.env;
  const kept = Object.fromEntries(Object.entries({ PATH, HOME, TMPDIR }).filter(([, value]) => value !== undefined));
  return { ...kept, OTEL_TRACES_EXPORTER: "none", ...(watchesStdin ? { CONTROLPLANE_STDIN: "1" } : {}) };
}
