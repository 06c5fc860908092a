import { expect, test } from "vitest";
import { createLogger } from "../telemetry/log.ts";
import { runUntilStopped, type Task } from "./shutdown.ts";

const log = createLogger({ component: "test", destination: { write: () => undefined } });
const untilAborted: Task = (signal) =>
  new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });

test("a stop ends all tasks, and that is no error", async () => {
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

test("the failure of one task stops the others and is thrown", async () => {
  let stopped = false;
  const other: Task = async (signal) => {
    await untilAborted(signal);
    stopped = true;
  };
  const tasks = { bad: () => Promise.reject(new Error("address in use")), other };
  await expect(runUntilStopped({ tasks, signal: new AbortController().signal, log })).rejects.toThrow("address in use");
  expect(stopped).toBe(true);
});

test("a task that ends by itself is a failure", async () => {
  const tasks = { short: () => Promise.resolve(), untilAborted };
  await expect(runUntilStopped({ tasks, signal: new AbortController().signal, log })).rejects.toThrow("short ended by itself");
});

test("a task that does not end is named after the time of grace", async () => {
  const tasks = { deaf: () => new Promise<void>(() => {}), untilAborted };
  await expect(runUntilStopped({ tasks, signal: AbortSignal.abort(), log, graceMs: 20 })).rejects.toThrow(
    "still running 20 ms after the stop: deaf",
  );
});
