import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Binary } from "./binaries.ts";
import { guardCommand } from "./processes.ts";

/** How one server of the control plane is run. */
export interface ComponentSpec {
  readonly name: string;
  readonly binary: Binary;
  readonly args: readonly string[];
  /** Standard output and error are appended here. */
  readonly logFile: string;
  /** True once the server answers. Called every 50 ms; a rejection counts as false. */
  readonly ready: (signal: AbortSignal) => Promise<boolean>;
}

const LOG_TAIL_LINES = 20;
const PROBE_INTERVAL_MS = 50;
const STOP_TIMEOUT_MS = 3000;

/**
 * One running server. Its standard input is a pipe that this process holds open and never writes to: when this process ends,
 * however it ends, the kernel closes the pipe and the server goes with it.
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
    child.once("error", (err) => resolve(`could not be started: ${err.message}`));
    child.once("exit", (code, signal) => resolve(signal === null ? `exited with code ${code}` : `was ended by ${signal}`));
    this.#ended = promise.then((end) => {
      this.#end = end;
      return end;
    });
    child.stdin?.on("error", () => undefined);
    child.unref();
  }

  /** Starts the server and returns at once; `ready` waits for it. */
  static start(spec: ComponentSpec): Component {
    const { path, watchesStdin } = spec.binary;
    const [command, args] = watchesStdin ? [path, [...spec.args]] : guardCommand(path, spec.args);
    const log = openSync(spec.logFile, "a");
    try {
      const child = spawn(command, args, { stdio: ["pipe", log, log], env: environment(watchesStdin) });
      return new Component(spec, child);
    } finally {
      closeSync(log);
    }
  }

  /** Undefined while the process lives, else how it ended. */
  get end(): string | undefined {
    return this.#end;
  }

  /** Process id; undefined when it could not be started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** @throws Error with the last lines of the log when the server ends or does not answer in `timeoutMs`. */
  async ready(timeoutMs: number): Promise<void> {
    const deadline = AbortSignal.timeout(timeoutMs);
    while (!deadline.aborted) {
      if (this.#end !== undefined) throw new Error(await this.#failure(this.#end));
      if (await this.spec.ready(deadline).catch(() => false)) return;
      await sleep(PROBE_INTERVAL_MS);
    }
    throw new Error(await this.#failure(`did not get ready in ${timeoutMs / 1000} s`));
  }

  /** Ends the process and waits for it: closes its standard input, kills it after 3 s. */
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

/** Neither a proxy nor another cluster's settings of the caller may reach the servers. */
function environment(watchesStdin: boolean): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR } = process.env;
  const kept = Object.fromEntries(Object.entries({ PATH, HOME, TMPDIR }).filter(([, value]) => value !== undefined));
  return { ...kept, OTEL_TRACES_EXPORTER: "none", ...(watchesStdin ? { CONTROLPLANE_STDIN: "1" } : {}) };
}
