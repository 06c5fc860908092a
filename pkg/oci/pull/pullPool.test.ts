import * as fc from "fast-check";
import { expect, test } from "vitest";
import { FakeClock } from "../../../test/support/fakeClock.ts";
import { PullPool, type PullPoolLimits, toPullTarget } from "./pullPool.ts";

const LIMITS: PullPoolLimits = { total: 6, reserved: 2, perHost: 3, perRepository: 2 };

/** A pool with pulls that a test ends. */
class Bench {
  /** Owners of started pulls, in order. */
  readonly started: string[] = [];
  readonly ended: string[] = [];
  readonly clock = new FakeClock();
  readonly pool: PullPool<string>;
  readonly #open = new Map<string, { end: (value: string | Error) => void; signal: AbortSignal }>();

  constructor(limits: PullPoolLimits = LIMITS) {
    this.pool = new PullPool({ limits, clock: this.clock, onChange: (owner) => void this.ended.push(owner) });
  }

  /** Requests an image such as "host/repository:tag". */
  ask(owner: string, image: string): ReturnType<PullPool<string>["request"]> {
    return this.pool.request(owner, image, toPullTarget(image.replace("/", ".example/")), (signal) => this.#work(owner, signal));
  }

  #work(owner: string, signal: AbortSignal): Promise<string> {
    this.started.push(owner);
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    this.#open.set(owner, { end: (value) => (typeof value === "string" ? resolve(value) : reject(value)), signal });
    signal.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
    return promise;
  }

  isAborted(owner: string): boolean {
    return this.#open.get(owner)?.signal.aborted ?? false;
  }

  /** Ends a running pull and waits until the pool has processed it. */
  async end(owner: string, value: string | Error = `image of ${owner}`): Promise<void> {
    this.#open.get(owner)?.end(value);
    await settled();
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const pending = (isNew: boolean, lastError?: unknown): object => ({ kind: "pending", isNew, isSlow: false, lastError });

test("PullPool starts a pull once for repeated requests, and returns its result once", async () => {
  const bench = new Bench();
  expect(bench.ask("a", "h/r:1")).toEqual(pending(true));
  await settled();
  expect(bench.ask("a", "h/r:1")).toEqual(pending(false));
  await bench.end("a");
  expect([bench.started, bench.ended]).toEqual([["a"], ["a"]]);
  expect(bench.ask("a", "h/r:1")).toEqual({ kind: "done", value: "image of a" });
  expect(bench.ask("a", "h/r:1")).toEqual(pending(true));
});

test("PullPool returns a failure once, and then as the last error during the next attempt", async () => {
  const bench = new Bench();
  const error = new Error("no route");
  bench.ask("a", "h/r:1");
  await settled();
  await bench.end("a", error);
  expect(bench.ask("a", "h/r:1")).toEqual({ kind: "failed", error });
  expect(bench.ask("a", "h/r:1")).toEqual(pending(true, error));
  expect(bench.ask("a", "h/r:1")).toEqual(pending(false, error));
});

test("PullPool discards a result that was not requested within a minute", async () => {
  const bench = new Bench();
  bench.ask("a", "h/r:1");
  await settled();
  await bench.end("a");
  bench.clock.advance(60_001);
  expect(bench.ask("a", "h/r:1")).toEqual(pending(true));
});

test("PullPool cancels the owner's pull when the owner requests another image, and starts the new pull after that", async () => {
  const bench = new Bench();
  bench.ask("a", "h/r:1");
  await settled();
  bench.ask("a", "h/r:2");
  expect(bench.isAborted("a")).toBe(true);
  await settled();
  expect(bench.started).toEqual(["a", "a"]);
  await bench.end("a", "second");
  expect(bench.ended).toEqual(["a"]);
  expect(bench.ask("a", "h/r:2")).toEqual({ kind: "done", value: "second" });
});

test("PullPool.cancel ends a running or waiting pull, and resolves when the pull has ended", async () => {
  const bench = new Bench();
  bench.ask("a", "h/r:1");
  bench.ask("b", "h/r:1");
  await settled();
  expect([bench.pool.running, bench.pool.waiting]).toEqual([1, 1]);
  await bench.pool.cancel("b");
  await bench.pool.cancel("a");
  expect([bench.pool.running, bench.pool.waiting, bench.ended]).toEqual([0, 0, []]);
  expect(bench.started).toEqual(["a"]);
});

test("PullPool.close cancels all pulls and prevents new pulls", async () => {
  const bench = new Bench();
  for (const owner of ["a", "b", "c", "d", "e"]) bench.ask(owner, `h/r:${owner}`);
  await settled();
  await bench.pool.close();
  expect(bench.ask("x", "h/r:1")).toEqual(pending(true));
  expect([bench.pool.running, bench.pool.waiting]).toEqual([0, 0]);
});

test("PullPool retries a failed pull without reporting the failure when the credentials have changed", async () => {
  const bench = new Bench();
  bench.ask("a", "h/r:1");
  await settled();
  bench.pool.renew();
  await bench.end("a", new Error("unauthorized"));
  expect([bench.started, bench.ended]).toEqual([["a", "a"], []]);
  await bench.end("a");
  expect(bench.ask("a", "h/r:1")).toEqual({ kind: "done", value: "image of a" });
});

test.for<[rule: string, requested: string[], started: number[]]>([
  ["a host has at most its share", ["h/a:1", "h/b:1", "h/c:1", "h/d:1", "i/a:1"], [0, 1, 2, 4]],
  ["a repository has at most its share", ["h/a:1", "h/a:2", "h/a:3", "h/b:1"], [0, 1, 3]],
  ["only one pull of an image runs at a time", ["h/a:1", "h/a:1", "h/b:1"], [0, 2]],
  [
    "the reserved slots are for hosts without a running pull",
    ["h/a:1", "h/b:1", "i/a:1", "i/b:1", "h/c:1", "j/a:1", "k/a:1", "l/a:1"],
    [0, 1, 2, 3, 5, 6],
  ],
])("PullPool lets pulls wait when a limit is reached: %s", async ([, requested, started]) => {
  const bench = new Bench();
  for (const [index, image] of requested.entries()) bench.ask(String(index), image);
  await settled();
  expect(bench.started.map(Number)).toEqual(started);
});

test("PullPool starts a pull of the host with the fewest running pulls first, and then the earliest request", async () => {
  const bench = new Bench({ total: 2, reserved: 0, perHost: 2, perRepository: 2 });
  for (const [owner, image] of Object.entries({ a: "h/1:1", b: "h/2:1", c: "h/3:1", d: "i/1:1", e: "h/4:1" })) bench.ask(owner, image);
  await settled();
  await bench.end("a");
  await bench.end("b");
  await bench.end("c");
  expect(bench.started).toEqual(["a", "b", "d", "c", "e"]);
});

test("PullPool eventually runs every pull and never exceeds its limits, for any order of requests and results", async () => {
  const images = fc.array(fc.tuple(fc.constantFrom("h", "i", "j"), fc.constantFrom("a", "b"), fc.constantFrom("1", "2")), {
    maxLength: 30,
  });
  await fc.assert(
    fc.asyncProperty(images, fc.infiniteStream(fc.nat()), async (requested, order) => {
      const bench = new Bench();
      const hostOf = new Map(requested.map(([host], index) => [String(index), host]));
      for (const [index, [host, repository, tag]] of requested.entries()) bench.ask(String(index), `${host}/${repository}:${tag}`);
      await settled();
      while (bench.ended.length < requested.length) {
        const running = bench.started.filter((owner) => !bench.ended.includes(owner));
        expect(running.length).toBeGreaterThan(0);
        expect(running.length).toBeLessThanOrEqual(LIMITS.total);
        for (const host of ["h", "i", "j"])
          expect(running.filter((owner) => hostOf.get(owner) === host).length).toBeLessThanOrEqual(LIMITS.perHost);
        await bench.end(running[(order.next().value ?? 0) % running.length] ?? "");
      }
      expect(new Set(bench.started).size).toBe(requested.length);
    }),
    { numRuns: 50 },
  );
});

test("PullPool notifies the owner of a slow pull once, and never after the pull has ended", async () => {
  const bench = new Bench();
  bench.ask("slow", "h/r:1");
  bench.ask("fast", "g/r:1");
  await settled();
  await bench.end("fast");
  bench.clock.advance(300);
  expect(bench.ended).toEqual(["fast", "slow"]);
  expect(bench.ask("slow", "h/r:1")).toMatchObject({ kind: "pending", isNew: false, isSlow: true });
  bench.clock.advance(10_000);
  expect(bench.ended).toEqual(["fast", "slow"]);
});
