import { expect, test } from "vitest";
import { FakeClock } from "../../test/support/fakeClock.ts";
import { KeyedTimers } from "./workQueue.ts";

test("KeyedTimers fire once per key at its earliest time", () => {
  const clock = new FakeClock();
  const fired: string[] = [];
  const timers = new KeyedTimers(clock, (key) => fired.push(`${key} ${clock.now()}`));
  timers.set("a", 500);
  timers.set("a", 900);
  timers.set("b", 900);
  timers.set("b", 300);
  clock.advance(1_000);
  expect(fired).toEqual(["b 300", "a 500"]);
  timers.set("a", 100);
  clock.advance(100);
  expect(fired).toEqual(["b 300", "a 500", "a 1100"]);
});

test("KeyedTimers do not fire after clear", () => {
  const clock = new FakeClock();
  const fired: string[] = [];
  const timers = new KeyedTimers(clock, (key) => fired.push(key));
  timers.set("a", 100);
  timers.clear();
  clock.advance(200);
  expect([fired, clock.pending]).toEqual([[], 0]);
});
