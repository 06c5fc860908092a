import { expect, test } from "vitest";
import { FakeClock } from "../../test/support/fakeClock.ts";
import { RetryableError, TerminalError, wrapError } from "../errors/errors.ts";
import { KubeError } from "../kube/errors.ts";
import { RegistryError } from "../oci/registry/registryError.ts";
import { createLogger } from "../telemetry/log.ts";
import { createMetrics, registerControllerMetrics } from "../telemetry/metrics.ts";
import { Controller, type Reconcile } from "./controller.ts";
import { WorkQueue } from "./workQueue.ts";

const SOON = { timeout: 15_000 };

function start(reconcile: Reconcile, workers = 1) {
  const clock = new FakeClock();
  const queue = new WorkQueue({ clock });
  const metrics = createMetrics("test");
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) };
  const log = createLogger({ component: "test", level: "debug", destination });
  const stop = new AbortController();
  const controller = new Controller({
    name: "extension",
    queue,
    reconcile,
    workers,
    log,
    metrics: registerControllerMetrics(metrics, "extension"),
  });
  const running = controller.run(stop.signal);
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  return { clock, queue, metrics, lines, stop, running, end };
}

/** Runs one reconcile. Returns the delay until the next reconcile, the counted result and the log line. */
async function after(
  reconcile: Reconcile,
): Promise<{ againInMs: number | undefined; result: string | undefined; terminal: boolean; line: object }> {
  const done = Promise.withResolvers<void>();
  let runs = 0;
  const { clock, queue, metrics, lines, end } = start(async (key, ctx) => {
    runs++;
    if (runs > 1) return undefined;
    setImmediate(() => done.resolve());
    return reconcile(key, ctx);
  });
  queue.add("x");
  await done.promise;
  const text = await metrics.text();
  const line = lines.find(({ msg }) => String(msg).startsWith("reconcile")) ?? {};
  let againInMs: number | undefined;
  for (let ms = 0; ms <= 3_000; ms++) {
    if (ms > 0) clock.advance(1);
    await new Promise((resolve) => setImmediate(resolve));
    if (runs === 1) continue;
    againInMs = ms;
    break;
  }
  await end();
  const result = /reconcile_total\{controller="extension",result="(\w+)"\} 1/.exec(text)?.[1];
  const terminal = /terminal_reconcile_errors_total\{controller="extension"\} 1/.test(text);
  return { againInMs, result, terminal, line };
}

test.for<[string, Reconcile, { againInMs: number | undefined; result: string; terminal: boolean; line: object }]>([
  [
    "success",
    () => Promise.resolve(undefined),
    { againInMs: undefined, result: "success", terminal: false, line: { level: 20, msg: "reconciled" } },
  ],
  [
    "a requested delay",
    () => Promise.resolve({ requeueAfterMs: 70 }),
    { againInMs: 70, result: "requeue_after", terminal: false, line: { level: 20, requeueAfterMs: 70 } },
  ],
  [
    "a retryable error",
    () => Promise.reject(new RetryableError("Retrying", "later")),
    {
      againInMs: 5,
      result: "error",
      terminal: false,
      line: { level: 50, msg: "reconcile failed", retryAfterMs: 5, err: { message: "later" } },
    },
  ],
  [
    "an unknown error",
    () => Promise.reject(new Error("boom")),
    { againInMs: 5, result: "error", terminal: false, line: { level: 50, msg: "reconcile failed" } },
  ],
  [
    "a synchronous error",
    () => {
      throw new TypeError("undefined is not a function");
    },
    { againInMs: 5, result: "error", terminal: false, line: { level: 50 } },
  ],
  [
    "an API server that requests a delay",
    () =>
      Promise.reject(new RetryableError("x", "busy", { cause: new KubeError("busy", { status: 429, reason: "", retryAfterMs: 2_000 }) })),
    { againInMs: 2_000, result: "error", terminal: false, line: { retryAfterMs: 2_000 } },
  ],
  [
    "an error that requests a delay",
    () => Promise.reject(wrapError("load: ", new RetryableError("x", "too long", { restMs: 3_000 }))),
    { againInMs: 3_000, result: "error", terminal: false, line: { retryAfterMs: 3_000 } },
  ],
  [
    "a registry that requests a delay",
    () => Promise.reject(new RetryableError("x", "busy", { cause: new RegistryError("too many requests", 429, 2_000) })),
    { againInMs: 2_000, result: "error", terminal: false, line: { retryAfterMs: 2_000 } },
  ],
  [
    "a terminal error",
    () => Promise.reject(new Error("outer", { cause: new TerminalError("Blocked", "never") })),
    {
      againInMs: undefined,
      result: "error",
      terminal: true,
      line: { level: 50, msg: "reconcile failed, not retrying until the object changes" },
    },
  ],
])("Controller sets the retry delay, the metric and the log line after %s", async ([, reconcile, want]) => {
  const got = await after(reconcile);
  expect(got).toMatchObject(want);
  expect(got.line).toMatchObject({ controller: "extension", object: "x", reconcileID: expect.stringMatching(/^[0-9a-f-]{36}$/) });
});

test("Controller resets the back-off after a success", async () => {
  const outcomes = ["fail", "fail", "ok", "fail"];
  let runs = 0;
  const { clock, queue, lines, end } = start(() => {
    if (outcomes[runs++] === "fail") return Promise.reject(new Error("no"));
    return Promise.resolve(undefined);
  });
  for (let i = 0; i < outcomes.length; i++) {
    queue.add("x");
    await expect.poll(() => runs, SOON).toBe(i + 1);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(lines.filter(({ msg }) => msg === "reconcile failed").map(({ retryAfterMs }) => retryAfterMs)).toEqual([5, 10, 5]);
  clock.advance(0);
  await end();
});

test("Controller keeps the back-off when a reconcile returns isPending", async () => {
  const outcomes = ["fail", "pending", "fail", "pending", "fail"];
  let runs = 0;
  const { queue, lines, end } = start(() =>
    outcomes[runs++] === "fail" ? Promise.reject(new Error("no")) : Promise.resolve({ isPending: true }),
  );
  for (let i = 0; i < outcomes.length; i++) {
    queue.add("x");
    await expect.poll(() => runs, SOON).toBe(i + 1);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(lines.filter(({ msg }) => msg === "reconcile failed").map(({ retryAfterMs }) => retryAfterMs)).toEqual([5, 10, 20]);
  await end();
});

test("Controller starts more workers when reconciles hang, and stops the extra workers when these reconciles end", async () => {
  const clock = new FakeClock();
  const queue = new WorkQueue({ clock });
  const stop = new AbortController();
  const hanging = new Map<string, PromiseWithResolvers<undefined>>();
  const done: string[] = [];
  let [now, most] = [0, 0];
  const controller = new Controller({
    name: "extension",
    queue,
    workers: 2,
    clock,
    slowAfterMs: 100,
    log: createLogger({ component: "test", level: "silent" }),
    reconcile: async (key) => {
      most = Math.max(most, ++now);
      if (key.startsWith("hang")) {
        const end = Promise.withResolvers<undefined>();
        hanging.set(key, end);
        await end.promise;
      }
      now--;
      done.push(key);
      return undefined;
    },
  });
  const running = controller.run(stop.signal);
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  for (const key of ["hang-a", "hang-b", "other"]) queue.add(key);
  await settled();
  expect([[...hanging.keys()], done]).toEqual([["hang-a", "hang-b"], []]);
  clock.advance(100);
  await settled();
  expect(done).toEqual(["other"]);
  for (let i = 0; i < 20; i++) queue.add(`hang-${i}`);
  for (let i = 0; i < 10; i++) {
    clock.advance(100);
    await settled();
  }
  expect(most).toBe(10); // number of slow reconciles and of workers
  while (hanging.size > 0) {
    for (const [key, { resolve }] of hanging) {
      hanging.delete(key);
      resolve(undefined);
    }
    await settled();
    expect(now).toBeLessThanOrEqual(10);
  }
  queue.add("last");
  await settled();
  expect([done.length, done.at(-1)]).toEqual([24, "last"]);
  stop.abort();
  await running;
});

test("Controller reconciles several keys concurrently, but never the same key twice at once", async () => {
  const running = new Map<string, number>();
  let most = 0;
  let finished = 0;
  const { queue, end } = start(async (key) => {
    running.set(key, (running.get(key) ?? 0) + 1);
    expect(running.get(key)).toBe(1);
    most = Math.max(most, [...running.values()].filter((count) => count > 0).length);
    await new Promise((resolve) => setTimeout(resolve, 2));
    running.set(key, 0);
    finished++;
    return undefined;
  }, 3);
  for (let round = 0; round < 5; round++) {
    for (const key of ["a", "b", "c", "d"]) queue.add(key);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await expect.poll(() => [finished >= 4, queue.length], SOON).toEqual([true, 0]);
  await end();
  expect(most).toBe(3);
});

test("Controller waits for reconciles in progress when it stops, and does not log their abort as an error", async () => {
  const started = Promise.withResolvers<void>();
  const { queue, stop, running, lines } = start(async (key, { signal }) => {
    started.resolve();
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    lines.push({ msg: `cleaned up ${key}` });
    signal.throwIfAborted();
    return undefined;
  });
  queue.add("a");
  queue.add("b");
  await started.promise;
  stop.abort();
  await running;
  expect(lines.map(({ msg }) => msg)).toEqual(["controller started", "cleaned up a", "reconcile stopped", "controller stopped"]);
});
