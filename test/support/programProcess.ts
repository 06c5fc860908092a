import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { eventually } from "./eventually.ts";

/** A program that runs in a process of its own, with all its output. */
export class ProgramProcess implements AsyncDisposable {
  readonly child: ChildProcess;
  #output = "";

  /** @param args the file of a program for Node.js, then its arguments; or the arguments of another `command` */
  constructor(args: readonly string[], env: NodeJS.ProcessEnv = process.env, command: string = process.execPath) {
    this.child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], env });
    for (const stream of [this.child.stdout, this.child.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => (this.#output += text));
  }

  /** Standard output and standard error so far. */
  get output(): string {
    return this.#output;
  }

  /** Returns the match of a pattern in the output, and waits for it. @throws Error with the output if the program exits before */
  async find(pattern: RegExp): Promise<RegExpExecArray> {
    return eventually(() => {
      const found = pattern.exec(this.#output);
      if (found) return found;
      throw new Error(`no ${pattern} in the output of ${this.child.spawnargs[1]} (exit code ${this.child.exitCode}):\n${this.#output}`);
    });
  }

  /** Sends a signal and returns the exit code; null if the signal ended the program. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return this.child.exitCode;
    const ended = once(this.child, "exit") as Promise<[number | null]>;
    this.child.kill(signal);
    return (await ended)[0];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const timer = setTimeout(() => this.child.kill("SIGKILL"), 20_000);
    await this.stop();
    clearTimeout(timer);
  }
}
