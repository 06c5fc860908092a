import * as fc from "fast-check";
import { expect, test } from "vitest";
import { FakeClock } from "../../../test/support/fakeClock.ts";
import { PullPool, type PullPoolLimits, targetOf } from "./pullPool.ts";

const LIMITS: PullPoolLimits = { total: 6, reserved: 2, perHost: 3, perRepository: 2 };

/** A pool whose pulls end when a test says so. */
class Bench {
  /** Owners whose pulls were started, in order. */
  readonly started: string[] = [];
  readonly ended: string[] = [];
  readonly clock = new FakeClock();
  readonly pool: PullPool<string>;
  readonly #open = new Map<string, { end: (value: string | Error) => void; signal: AbortSignal }>();

  constructor(limits: PullPoolLimits = LIMITS) {
    this.pool = new PullPool({ limits, clock: this.clock, onChange: (owner) => void this.ended.push(owner) });
  }

  /** Asks for an image such as "host/repository:tag". */
  ask(owner: string, image: string): ReturnType<PullPool<string>["request"]> {
    return this.pool.request(owner, image, targetOf(image.replace("/", ".example/")), (signal) => this.#work(owner, signal));
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

  /** Ends a running pull, and waits until the pool has seen that. */
  async end(owner: string, value: string | Error = `image of ${owner}`): Promise<void> {
    this.#open.get(owner)?.end(value);
    await settled();
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const pending = (isNew: boolean, lastError?: unknown): object => ({ kind: "pending", isNew, isSlow: false, lastError });

test("a pull is started once, joined while it runs, and gives its result once", async () => {
  const bench = new Bench();
  expect(bench.ask("a", "h/r:1")).toEqual(pending(true));
  await settled();
  expect(bench.ask("a", "h/r:1")).toEqual(pending(false));
  await bench.end("a");
  expect([bench.started, bench.ended]).toEqual([["a"], ["a"]]);
  expect(bench.ask("a", "h/r:1")).toEqual({ kind: "done", value: "image of a" });
  expect(bench.ask("a", "h/r:1")).toEqual(pending(true));
});

test("a failure is told once, and known as the last error while the next attempt runs", async () => {
  const bench = new Bench();
  const error = new Error("no route");
  bench.ask("a", "h/r:1");
  await settled();
  await bench.end("a", error);
  expect(bench.ask("a", "h/r:1")).toEqual({ kind: "failed", error });
  expect(bench.ask("a", "h/r:1")).toEqual(pending(true, error));
  expect(bench.ask("a", "h/r:1")).toEqual(pending(false, error));
});

test("a result that nobody collected for a minute is not used", async () => {
  const bench = new Bench();
  bench.ask("a", "h/r:1");
  await settled();
  await bench.end("a");
  bench.clock.advance(60_001);
  expect(bench.ask("a", "h/r:1")).toEqual(pending(true));
});

test("another key cancels the owner's pull, and starts when that has ended", async () => {
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

test("cancel ends a pull that runs or waits, and resolves when it has ended", async () => {
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

test("close ends everything and lets nothing start", async () => {
  const bench = new Bench();
  for (const owner of ["a", "b", "c", "d", "e"]) bench.ask(owner, `h/r:${owner}`);
  await settled();
  await bench.pool.close();
  expect(bench.ask("x", "h/r:1")).toEqual(pending(true));
  expect([bench.pool.running, bench.pool.waiting]).toEqual([0, 0]);
});

test("a failure with credentials that have changed since is tried again without being told", async () => {
  const bench = new Bench();
  bench.ask("a", "h/r:1");
  await settled();
  bench.pool.renew();
  await bench.end("a", new Error("unauthorized"));
  expect([bench.started, bench.ended]).toEqual([["a", "a"], []]);
  await bench.end("a");
  expect(bench.ask("a", "h/r:1")).toEqual({ kind: "done", value: "image of a" });
});

test.for<[rule: string, asked: string[], started: number[]]>([
  ["a host has at most its share", ["h/a:1", "h/b:1", "h/c:1", "h/d:1", "i/a:1"], [0, 1, 2, 4]],
  ["a repository has at most its share", ["h/a:1", "h/a:2", "h/a:3", "h/b:1"], [0, 1, 3]],
  ["one image is pulled once at a time", ["h/a:1", "h/a:1", "h/b:1"], [0, 2]],
  [
    "the last places are for hosts that have no pull running",
    ["h/a:1", "h/b:1", "i/a:1", "i/b:1", "h/c:1", "j/a:1", "k/a:1", "l/a:1"],
    [0, 1, 2, 3, 5, 6],
  ],
])("%s while others wait", async ([, asked, started]) => {
  const bench = new Bench();
  for (const [index, image] of asked.entries()) bench.ask(String(index), image);
  await settled();
  expect(bench.started.map(Number)).toEqual(started);
});

test("the host with the fewest running pulls comes first, then who asked first", async () => {
  const bench = new Bench({ total: 2, reserved: 0, perHost: 2, perRepository: 2 });
  for (const [owner, image] of Object.entries({ a: "h/1:1", b: "h/2:1", c: "h/3:1", d: "i/1:1", e: "h/4:1" })) bench.ask(owner, image);
  await settled();
  await bench.end("a");
  await bench.end("b");
  await bench.end("c");
  expect(bench.started).toEqual(["a", "b", "d", "c", "e"]);
});

test("every pull runs in the end, and never more than allowed, whatever is asked and ends in whatever order", async () => {
  const images = fc.array(fc.tuple(fc.constantFrom("h", "i", "j"), fc.constantFrom("a", "b"), fc.constantFrom("1", "2")), {
    maxLength: 30,
  });
  await fc.assert(
    fc.asyncProperty(images, fc.infiniteStream(fc.nat()), async (asked, order) => {
      const bench = new Bench();
      const hostOf = new Map(asked.map(([host], index) => [String(index), host]));
      for (const [index, [host, repository, tag]] of asked.entries()) bench.ask(String(index), `${host}/${repository}:${tag}`);
      await settled();
      while (bench.ended.length < asked.length) {
        const running = bench.started.filter((owner) => !bench.ended.includes(owner));
        expect(running.length).toBeGreaterThan(0);
        expect(running.length).toBeLessThanOrEqual(LIMITS.total);
        for (const host of ["h", "i", "j"])
          expect(running.filter((owner) => hostOf.get(owner) === host).length).toBeLessThanOrEqual(LIMITS.perHost);
        await bench.end(running[(order.next().value ?? 0) % running.length] ?? "");
      }
      expect(new Set(bench.started).size).toBe(asked.length);
    }),
    { numRuns: 50 },
  );
});

test("a pull that is slow wakes its owner once, and one that has ended does so no more", async () => {
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
