import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { createTimeoutSignal } from "../async/clock.ts";
import { StepFailed } from "./trialReport.ts";

/** A command of the user, for a shell. */
export interface CheckCommand {
  readonly command: string;
  /** All environment variables of the command. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Maximum time in milliseconds. */
  readonly timeoutMs: number;
  /** Stops the command. */
  readonly signal: AbortSignal;
  /** Receives the output as it is printed. */
  readonly print: (text: string) => void;
}

/** Maximum length of the stored output in characters; the beginning is dropped. */
const OUTPUT_LENGTH = 64 * 1_024;
/** Time in milliseconds for a command to end after SIGTERM. */
const KILL_AFTER_MS = 5_000;
/** Time in milliseconds to read the rest of the output. */
const CLOSE_AFTER_MS = 2_000;

/**
 * Runs a command with `sh -c`, in its own process group, which is killed after the time limit. Standard input is empty.
 * @returns the last part of its output
 * @throws StepFailed if the command fails or takes too long; the signal's reason after an abort
 */
export async function runCheckCommand({ command, env, timeoutMs, signal, print }: CheckCommand): Promise<string> {
  signal.throwIfAborted();
  const child = spawn("sh", ["-c", command], { env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output = (output + text).slice(-OUTPUT_LENGTH);
      print(text);
    });
  }
  const closed = once(child, "close");
  const ended = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
  const timeout = createTimeoutSignal(timeoutMs);
  const stop = AbortSignal.any([signal, timeout]);
  const aborted = once(stop, "abort").then(() => undefined);
  const end = stop.aborted ? undefined : await Promise.race([ended, aborted]);
  await killGroup(child, ended);
  // A process that left the group can keep the output open.
  await within(CLOSE_AFTER_MS, closed);
  child.stdout.destroy();
  child.stderr.destroy();
  signal.throwIfAborted();
  if (end === undefined) throw new StepFailed(`the command was stopped after ${timeoutMs / 1_000} s`, output);
  const [code, killed] = end;
  if (code !== 0)
    throw new StepFailed(killed === null ? `the command failed with exit code ${code}` : `the command ended with ${killed}`, output);
  return output;
}

/** Ends all processes of the group: SIGTERM, then SIGKILL after some seconds. */
async function killGroup(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  signalGroup(child, "SIGTERM");
  await within(KILL_AFTER_MS, ended);
  signalGroup(child, "SIGKILL");
}

/** Waits for an event, up to a time limit. */
async function within(ms: number, event: Promise<unknown>): Promise<void> {
  const late = new AbortController();
  await Promise.race([event, sleep(ms, undefined, { signal: late.signal }).catch(() => undefined)]);
  late.abort();
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch (err) {
    // No process of the group is left.
    if ((err as NodeJS.ErrnoException).code !== "ESRCH") throw err;
  }
}
