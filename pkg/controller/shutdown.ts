import { getErrorMessage } from "../errors/errors.ts";
import type { Logger } from "../telemetry/log.ts";

/** A long-running part of a program. Returns soon after `signal` aborts. */
export type Task = (signal: AbortSignal) => Promise<void>;

/** Options of `runUntilStopped`. */
export interface RunInit {
  /** Tasks by name; they start together. */
  tasks: Readonly<Record<string, Task>>;
  /** Stops all tasks when it aborts; see `stopOnSignals`. */
  signal: AbortSignal;
  log: Logger;
  /** Maximum wait for tasks to end after a stop. Default 25 s, which is less than the 30 s that Pods have by default. */
  graceMs?: number;
}

const GRACE_MS = 25_000;

/**
 * Environment variable that a parent process sets to "1" if standard input is a pipe. The program then stops when
 * the pipe closes, so that it also stops if the parent process crashes.
 */
export const STOP_WITH_STDIN = "OLMV1_STOP_WITH_STDIN";

/** Returns a signal that aborts on the first SIGTERM or SIGINT. A second SIGTERM or SIGINT ends the process immediately. */
export function stopOnSignals(log: Logger): AbortSignal {
  const stop = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"] as const) {
    process.on(name, () => {
      if (stop.signal.aborted) process.exit(1);
      log.info({ signal: name }, "stopping");
      stop.abort(new Error(`stopped by ${name}`));
    });
  }
  if (process.env[STOP_WITH_STDIN] === "1") {
    process.stdin.resume().once("close", () => {
      if (stop.signal.aborted) return;
      log.info("stopping: standard input was closed");
      stop.abort(new Error("standard input was closed"));
    });
    process.stdin.unref(); // must not keep the process alive
  }
  return stop.signal;
}

/**
 * Runs all tasks until `signal` aborts or a task fails or ends early. Then stops the other tasks and waits for them.
 * @throws the error of the first task that failed. @throws Error if a task ended early or did not end in time.
 */
export async function runUntilStopped({ tasks, signal, log, graceMs = GRACE_MS }: RunInit): Promise<void> {
  const failed = new AbortController();
  const all = AbortSignal.any([signal, failed.signal]);
  const running = new Set(Object.keys(tasks));
  let failure: unknown;
  const ends = Object.entries(tasks).map(async ([name, task]) => {
    try {
      await task(all);
      if (!all.aborted) throw new Error(`task ${name} ended unexpectedly`);
    } catch (err) {
      if (!all.aborted) {
        failure = err;
        log.error({ task: name, err }, "task failed");
        failed.abort(err);
      } else log.debug({ task: name, reason: getErrorMessage(err) }, "task ended with an error while stopping");
    } finally {
      running.delete(name);
    }
  });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    const arm = (): void => {
      timer = setTimeout(resolve, graceMs);
    };
    if (all.aborted) arm();
    else all.addEventListener("abort", arm, { once: true });
  });
  await Promise.race([Promise.all(ends), late]);
  clearTimeout(timer);
  if (failure !== undefined) throw failure;
  if (running.size > 0) throw new Error(`tasks are still running ${graceMs} ms after shutdown started: ${[...running].join(", ")}`);
}
