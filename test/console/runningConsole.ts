import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

const START_MS = 60_000;

/** A running `olmv1 ui`. */
export class RunningConsole implements AsyncDisposable {
  /** The link that signs in once. */
  readonly link: string;
  /** Address of the start page, with a slash at the end. */
  readonly url: string;
  readonly process: ChildProcess;

  private constructor(process: ChildProcess, link: string) {
    this.process = process;
    this.link = link;
    this.url = new URL("/", link).href;
  }

  /** Starts the built command line. @param programs folder of the built programs */
  static async start(
    programs: string,
    { kubeconfig, registriesConf }: { readonly kubeconfig: string; readonly registriesConf: string },
    args: readonly string[] = [],
  ): Promise<RunningConsole> {
    const child = spawn(process.execPath, [join(programs, "olmv1.js"), "ui", "--no-open", "--kubeconfig", kubeconfig, ...args], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, CONTAINERS_REGISTRIES_CONF: registriesConf },
    });
    const timer = setTimeout(() => child.kill("SIGKILL"), START_MS);
    for await (const line of createInterface({ input: child.stdout })) {
      const link = /^Console: (\S+)$/.exec(line)?.[1];
      if (link === undefined) continue;
      clearTimeout(timer);
      return new RunningConsole(child, link);
    }
    throw new Error("olmv1 ui ended before it printed its link");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.process.exitCode !== null) return;
    const ended = once(this.process, "exit");
    this.process.kill("SIGTERM");
    await ended;
  }
}
