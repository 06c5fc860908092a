import * as fc from "fast-check";
import { expect, test } from "vitest";
import { FakeClock } from "../../test/support/fakeClock.ts";
import { WorkQueue } from "./workQueue.ts";

function start(options: ConstructorParameters<typeof WorkQueue>[0] = {}): { queue: WorkQueue; clock: FakeClock } {
  const clock = new FakeClock();
  return { queue: new WorkQueue({ clock, ...options }), clock };
}

test("a key stands in the queue once however often it is added", async () => {
  const { queue } = start();
  for (const key of ["a", "b", "a", "a"]) queue.add(key);
  expect([queue.length, await queue.get(), await queue.get(), queue.length]).toEqual([2, "a", "b", 0]);
});

test("a key is not handed out while it is worked on, and once more after that when it was added meanwhile", async () => {
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

test("whoever waits gets the next key", async () => {
  const { queue } = start();
  const [first, second] = [queue.get(), queue.get()];
  queue.add("a");
  queue.add("b");
  expect([await first, await second]).toEqual(["a", "b"]);
});

test("the back-off of a key is 5 ms · 2ⁿ, at most 1,000 s, until it is forgotten", () => {
  const { queue } = start();
  const delays = Array.from({ length: 20 }, () => queue.addRateLimited("a"));
  expect(delays).toEqual(Array.from({ length: 20 }, (_, n) => Math.min(5 * 2 ** n, 1_000_000)));
  expect(queue.addRateLimited("b")).toBe(5);
  queue.forget("a");
  expect(queue.addRateLimited("a")).toBe(5);
});

test("the back-off's bounds can be chosen, and a server's wish lengthens it", () => {
  const { queue } = start({ baseDelayMs: 100, maxDelayMs: 250 });
  expect([queue.addRateLimited("a"), queue.addRateLimited("a"), queue.addRateLimited("a"), queue.addRateLimited("a", 9_000)]).toEqual([
    100, 200, 250, 9_000,
  ]);
});

test("of several delays for one key the shortest holds, and the key comes once", () => {
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

test("shutting down drops what waits and releases who waits", async () => {
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

test("depth, adds, retries and durations are reported", async () => {
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

type Act = { do: "add" | "later" | "limited" | "take" | "done"; key: string };
const act: fc.Arbitrary<Act> = fc.record({
  do: fc.constantFrom("add", "later", "limited", "take", "done"),
  key: fc.constantFrom("a", "b", "c"),
});

test("no key is ever worked on twice at once, and none that was added is lost", async () => {
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
