import { getEventListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createTimeoutSignal, Deadline } from "./clock.ts";

test("Deadline aborts when its parent signal aborts or its time has passed", async () => {
  const stop = new AbortController();
  using followed = new Deadline(stop.signal, 60_000);
  stop.abort(new Error("stop"));
  expect([followed.signal.reason, followed.isOver]).toEqual([new Error("stop"), false]);
  using late = new Deadline(stop.signal, 60_000);
  expect(late.signal.aborted).toBe(true);
  using short = new Deadline(new AbortController().signal, 1);
  await sleep(20);
  expect([(short.signal.reason as Error).name, short.isOver]).toEqual(["TimeoutError", true]);
});

test.for([2 ** 31, 2 ** 40, 60_000.5])("createTimeoutSignal and Deadline do not abort at once when the time is %d ms", async (ms) => {
  using deadline = new Deadline(new AbortController().signal, ms);
  const signal = createTimeoutSignal(ms);
  await sleep(20);
  expect([signal.aborted, deadline.signal.aborted]).toEqual([false, false]);
});

test("Deadline releases its resources when disposed", async () => {
  const stop = new AbortController();
  const signals = Array.from({ length: 3 }, () => {
    using deadline = new Deadline(stop.signal, 5);
    return deadline.signal;
  });
  expect(getEventListeners(stop.signal, "abort")).toEqual([]);
  await sleep(30);
  stop.abort();
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, false, false]);
});
