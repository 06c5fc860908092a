import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createLogger } from "../telemetry/log.ts";
import { runUntilStopped, type Task } from "./shutdown.ts";

const log = createLogger({ component: "test", destination: { write: () => undefined } });
const untilAborted: Task = (signal) =>
  new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });

test("runUntilStopped returns when all tasks have ended after a stop", async () => {
  const stop = new AbortController();
  const ended: string[] = [];
  const task =
    (name: string): Task =>
    async (signal) => {
      await untilAborted(signal);
      ended.push(name);
      if (name === "b") signal.throwIfAborted();
    };
  const running = runUntilStopped({ tasks: { a: task("a"), b: task("b") }, signal: stop.signal, log });
  stop.abort();
  await running;
  expect(ended.sort()).toEqual(["a", "b"]);
});

test("runUntilStopped stops the other tasks and throws when a task fails", async () => {
  let stopped = false;
  const other: Task = async (signal) => {
    await untilAborted(signal);
    stopped = true;
  };
  const tasks = { bad: () => Promise.reject(new Error("address in use")), other };
  await expect(runUntilStopped({ tasks, signal: new AbortController().signal, log })).rejects.toThrow("address in use");
  expect(stopped).toBe(true);
});

test("runUntilStopped throws when a task ends early", async () => {
  const tasks = { short: () => Promise.resolve(), untilAborted };
  await expect(runUntilStopped({ tasks, signal: new AbortController().signal, log })).rejects.toThrow("task short ended unexpectedly");
});

test("runUntilStopped throws an error with the name of a task that does not end in time", async () => {
  const tasks = { deaf: () => new Promise<void>(() => {}), untilAborted };
  await expect(runUntilStopped({ tasks, signal: AbortSignal.abort(), log, graceMs: 20 })).rejects.toThrow(
    "tasks are still running 20 ms after shutdown started: deaf",
  );
});

const SOON = { timeout: 15_000 };
const PROGRAM = `
  const { runUntilStopped, stopOnSignals } = await import(${JSON.stringify(join(import.meta.dirname, "shutdown.ts"))});
  const { createLogger } = await import(${JSON.stringify(join(import.meta.dirname, "../telemetry/log.ts"))});
  const log = createLogger({ component: "program" });
  const alive = setInterval(() => {}, 1000);
  const work = (signal) => new Promise((resolve) => {
    console.log("working");
    if (process.argv.includes("deaf")) return;
    signal.addEventListener("abort", () => setTimeout(resolve, 50));
  });
  await runUntilStopped({ tasks: { work }, signal: stopOnSignals(log), log });
  clearInterval(alive);
  console.log("ended well");`;

/** Runs a program, sends it signals in sequence, and returns its exit code and output. */
async function runWithSignals(signals: NodeJS.Signals[], ...args: string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, ["--input-type=module", "-e", PROGRAM, "--", ...args], { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const exit = once(child, "exit") as Promise<[number | null]>;
  await expect.poll(() => output, SOON).toContain("working");
  for (const [i, signal] of signals.entries()) {
    if (i > 0) await expect.poll(() => output, SOON).toContain("stopping");
    child.kill(signal);
  }
  const [code] = await exit;
  return { code, output };
}

test.for<NodeJS.Signals>(["SIGTERM", "SIGINT"])(
  "stopOnSignals waits for tasks to end after %s, and the process exits with 0",
  async (signal) => {
    const { code, output } = await runWithSignals([signal]);
    expect([code, output]).toEqual([0, expect.stringContaining("ended well")]);
  },
);

test("stopOnSignals ends the process after a second signal", async () => {
  const { code, output } = await runWithSignals(["SIGTERM", "SIGINT"], "deaf");
  expect([code, output]).toEqual([1, expect.not.stringContaining("ended well")]);
});
