import { expect, test } from "vitest";
import { FakeClock } from "../../test/support/fakeClock.ts";
import { Repeats } from "./backoff.ts";

test("Repeats reports a new message immediately, and a repeated message once per interval with the number of suppressed repetitions", () => {
  const clock = new FakeClock();
  const repeats = new Repeats(clock, 60_000);
  expect(repeats.hasReported).toBe(false);
  expect(["a", "a", "a"].map((what) => repeats.report(what))).toEqual([0, undefined, undefined]);
  clock.advance(60_000);
  expect([repeats.report("a"), repeats.report("a")]).toEqual([2, undefined]);
  expect([repeats.report("b"), repeats.hasReported]).toEqual([1, true]);
  repeats.forget();
  expect([repeats.hasReported, repeats.report("b")]).toEqual([false, 0]);
});
