import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { FakeClock } from "../../../test/support/fakeClock.ts";
import { RetryableError, wrapError } from "../../errors/errors.ts";
import { ConditionPoller, WaitingError, waitingIn } from "./waiting.ts";

/** A clock, and rechecks that tell when they ask and what is over. */
function start(intervalMs = 15_000) {
  const clock = new FakeClock();
  const over: string[] = [];
  const askedAt: number[] = [];
  const rechecks = new ConditionPoller({ intervalMs, clock, onOver: (name) => over.push(name) });
  const asking = (answer: () => boolean) => () => {
    askedAt.push(clock.now() / 1000);
    return Promise.resolve(answer());
  };
  const pass = async (seconds: number): Promise<void> => {
    for (let i = 0; i < seconds; i++) {
      clock.advance(1_000);
      await turn();
    }
  };
  return { clock, rechecks, over, askedAt, asking, pass };
}

test("questions come soon at first, then each time after the interval, until there is an answer", async () => {
  const { rechecks, over, askedAt, asking, pass } = start();
  let granted = false;
  rechecks.begin(
    "x",
    asking(() => granted),
  );
  await pass(60);
  expect(askedAt).toEqual([1, 3, 7, 15, 30, 45, 60]);
  expect(over).toEqual([]);
  granted = true;
  await pass(15);
  expect([over, rechecks.size]).toEqual([["x"], 0]);
  await pass(60);
  expect(askedAt.length).toBe(8);
});

test("what is asked more often than the interval is never asked later than that", async () => {
  const { rechecks, askedAt, asking, pass } = start();
  rechecks.begin(
    "x",
    asking(() => false),
    3_000,
  );
  await pass(16);
  expect(askedAt).toEqual([1, 3, 6, 9, 12, 15]);
});

test("the more extensions wait, the more seldom each of them is asked for, down to the interval", async () => {
  for (const [waiting, last] of [
    [99, [1, 3, 7, 12]],
    [1_000, [1, 3, 7, 15]],
  ] as const) {
    const { rechecks, askedAt, asking, pass } = start();
    for (let i = 0; i < waiting; i++) rechecks.begin(`other-${i}`, () => Promise.resolve(false));
    rechecks.begin(
      "x",
      asking(() => false),
      3_000,
    );
    await pass(16);
    rechecks.endAll();
    expect(askedAt).toEqual(last);
  }
});

test("an interval below a second holds from the beginning", async () => {
  const { rechecks, askedAt, asking, clock } = start(100);
  rechecks.begin(
    "x",
    asking(() => false),
  );
  for (let i = 0; i < 3; i++) {
    clock.advance(100);
    await turn();
  }
  expect(askedAt).toEqual([0.1, 0.2, 0.3]);
});

test("a question that fails is left to a pass", async () => {
  const { rechecks, over, pass } = start();
  rechecks.begin("x", () => Promise.reject(new Error("connection refused")));
  await pass(1);
  expect(over).toEqual(["x"]);
});

test("what was waited for before is asked for no more, nor is anything after the end", async () => {
  const { rechecks, over, pass, asking, clock } = start();
  rechecks.begin("x", () => Promise.resolve(true));
  rechecks.begin(
    "x",
    asking(() => false),
  );
  rechecks.begin("y", () => Promise.resolve(true));
  rechecks.end("y");
  await pass(5);
  expect([over, rechecks.size]).toEqual([[], 1]);
  rechecks.endAll();
  await turn();
  expect([rechecks.size, clock.pending]).toEqual([0, 0]);
});

test("an answer that comes after the end counts for nothing", async () => {
  const { rechecks, over, pass } = start();
  const answer = Promise.withResolvers<boolean>();
  rechecks.begin("x", () => answer.promise);
  await pass(1);
  rechecks.end("x");
  answer.resolve(true);
  await pass(1);
  expect(over).toEqual([]);
});

test("what is waited for is found behind what was added to the error", () => {
  const waiting = new WaitingError("Retrying", "rights are missing", { isOver: () => Promise.resolve(false) });
  expect(waitingIn(wrapError("error for resolved bundle: ", waiting))).toBe(waiting);
  expect(waitingIn(new RetryableError("Retrying", "something else"))).toBeUndefined();
});
