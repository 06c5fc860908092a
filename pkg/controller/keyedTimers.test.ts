import { expect, test } from "vitest";
import { FakeClock } from "../../test/support/fakeClock.ts";
import { KeyedTimers } from "./workQueue.ts";

test("of several times for one key the earliest holds, and keys do not disturb each other", () => {
  const clock = new FakeClock();
  const rung: string[] = [];
  const alarms = new KeyedTimers(clock, (key) => rung.push(`${key} ${clock.now()}`));
  alarms.set("a", 500);
  alarms.set("a", 900);
  alarms.set("b", 900);
  alarms.set("b", 300);
  clock.advance(1_000);
  expect(rung).toEqual(["b 300", "a 500"]);
  alarms.set("a", 100);
  clock.advance(100);
  expect(rung).toEqual(["b 300", "a 500", "a 1100"]);
});

test("nothing rings once all is taken back", () => {
  const clock = new FakeClock();
  const rung: string[] = [];
  const alarms = new KeyedTimers(clock, (key) => rung.push(key));
  alarms.set("a", 100);
  alarms.clear();
  clock.advance(200);
  expect([rung, clock.pending]).toEqual([[], 0]);
});
