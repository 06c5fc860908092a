import * as fc from "fast-check";
import { expect, test } from "vitest";
import { FakeClock } from "../../test/support/fakeClock.ts";
import { WorkQueue } from "./workQueue.ts";

function start(options: ConstructorParameters<typeof WorkQueue>[0] = {}): { queue: WorkQueue; clock: FakeClock } {
  const clock = new FakeClock();
  return { queue: new WorkQueue({ clock, ...options }), clock };
}

test("WorkQueue contains a key once when it is added several times", async () => {
  const { queue } = start();
  for (const key of ["a", "b", "a", "a"]) queue.add(key);
  expect([queue.length, await queue.get(), await queue.get(), queue.length]).toEqual([2, "a", "b", 0]);
});

test("WorkQueue does not return a key that is being worked on, and queues it again after done", async () => {
  const { queue } = start();
  queue.add("a");
  await queue.get();
  queue.add("a");
  queue.add("a");
  expect(queue.length).toBe(0);
  queue.done("a");
  expect([queue.length, await queue.get()]).toEqual([1, "a"]);
  queue.done("a");
  expect(queue.length).toBe(0);
});

test("WorkQueue gives the next key to the first waiting caller", async () => {
  const { queue } = start();
  const [first, second] = [queue.get(), queue.get()];
  queue.add("a");
  queue.add("b");
  expect([await first, await second]).toEqual(["a", "b"]);
});

async function takeAll(queue: WorkQueue): Promise<string[]> {
  const taken: string[] = [];
  while (queue.length > 0) {
    const key = String(await queue.get());
    taken.push(key);
    queue.done(key);
  }
  return taken;
}

test("WorkQueue returns keys of normal priority first, and each priority in the order of arrival", async () => {
  const { queue } = start();
  for (const key of ["low-1", "low-2"]) queue.add(key, "low");
  for (const key of ["a", "b"]) queue.add(key);
  expect(await takeAll(queue)).toEqual(["a", "b", "low-1", "low-2"]);
});

test("WorkQueue raises the priority of a ready key, but never lowers it", async () => {
  const { queue } = start();
  for (const key of ["low", "raised"]) queue.add(key, "low");
  queue.add("raised");
  queue.add("raised", "low");
  expect([queue.length, await takeAll(queue)]).toEqual([2, ["raised", "low"]]);
});

test("WorkQueue returns a key of low priority after eight others, so that it never waits forever", async () => {
  const { queue } = start();
  for (const key of ["low-1", "low-2"]) queue.add(key, "low");
  const normal = Array.from({ length: 17 }, (_, i) => `key-${i}`);
  for (const key of normal) queue.add(key);
  expect(await takeAll(queue)).toEqual([...normal.slice(0, 8), "low-1", ...normal.slice(8, 16), "low-2", "key-16"]);
});

test("WorkQueue queues a key that was added while it was worked on with the highest priority of these adds", async () => {
  const { queue } = start();
  queue.add("a");
  await queue.get();
  queue.add("low", "low");
  queue.add("a", "low");
  queue.add("a");
  queue.add("a", "low");
  queue.done("a");
  expect(await takeAll(queue)).toEqual(["a", "low"]);
});

test("WorkQueue doubles the back-off from 5 ms up to 1,000 s, and resets it after forget", () => {
  const { queue } = start();
  const delays = Array.from({ length: 20 }, () => queue.addRateLimited("a"));
  expect(delays).toEqual(Array.from({ length: 20 }, (_, n) => Math.min(5 * 2 ** n, 1_000_000)));
  expect(queue.addRateLimited("b")).toBe(5);
  queue.forget("a");
  expect(queue.addRateLimited("a")).toBe(5);
});

test("WorkQueue uses the configured limits of the back-off, unless the caller requests a longer delay", () => {
  const { queue } = start({ baseDelayMs: 100, maxDelayMs: 250 });
  expect([queue.addRateLimited("a"), queue.addRateLimited("a"), queue.addRateLimited("a"), queue.addRateLimited("a", 9_000)]).toEqual([
    100, 200, 250, 9_000,
  ]);
});

test("WorkQueue uses the shortest of several delays for a key", () => {
  const { queue, clock } = start();
  queue.addAfter("a", 100);
  queue.addAfter("a", 10);
  queue.addAfter("a", 50);
  clock.advance(9);
  expect(queue.length).toBe(0);
  clock.advance(1);
  expect(queue.length).toBe(1);
  expect(clock.pending).toBe(0);
});

test("WorkQueue drops queued keys and releases waiting callers on shutDown", async () => {
  const { queue, clock } = start();
  queue.add("busy");
  expect(await queue.get()).toBe("busy");
  const waiting = queue.get();
  queue.addAfter("later", 10);
  queue.shutDown();
  queue.add("b");
  queue.addAfter("c", 0);
  queue.done("busy");
  clock.advance(1_000);
  expect([await waiting, await queue.get(), queue.length, clock.pending]).toEqual([undefined, undefined, 0, 0]);
});

test("WorkQueue reports depth, adds, retries and durations", async () => {
  const seen: string[] = [];
  const metrics = {
    depth: (n: number) => void seen.push(`depth ${n}`),
    added: () => void seen.push("added"),
    retried: () => void seen.push("retried"),
    taken: (s: number) => void seen.push(`taken ${s}`),
    worked: (s: number) => void seen.push(`worked ${s}`),
  };
  const { queue, clock } = start({ metrics });
  queue.add("a");
  clock.advance(2_000);
  await queue.get();
  clock.advance(3_000);
  queue.done("a");
  queue.addRateLimited("a");
  expect(seen).toEqual(["added", "depth 1", "depth 0", "taken 2", "worked 3", "retried"]);
});

type Act = { do: "add" | "low" | "later" | "limited" | "take" | "done"; key: string };
const act: fc.Arbitrary<Act> = fc.record({
  do: fc.constantFrom("add", "low", "later", "limited", "take", "done"),
  key: fc.constantFrom("a", "b", "c"),
});

test("WorkQueue never returns a key twice concurrently and never loses a key", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 60 }), async (acts) => {
      const { queue, clock } = start();
      const working = new Set<string>();
      const owed = new Set<string>();
      const take = async (): Promise<void> => {
        const key = String(await queue.get());
        expect(working.has(key)).toBe(false);
        working.add(key);
        owed.delete(key);
      };
      const finish = (key: string): void => {
        if (working.delete(key)) queue.done(key);
      };
      for (const { do: what, key } of acts) {
        if (what === "take") {
          if (queue.length > 0) await take();
        } else if (what === "done") finish(key);
        else {
          owed.add(key);
          if (what === "add") queue.add(key);
          else if (what === "low") queue.add(key, "low");
          else if (what === "later") queue.addAfter(key, 7);
          else queue.addRateLimited(key);
        }
      }
      clock.advance(10_000_000);
      for (const key of working) finish(key);
      while (queue.length > 0) {
        await take();
        for (const key of working) finish(key);
      }
      expect([...owed]).toEqual([]);
    }),
  );
});
