import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { FakeClock } from "../../../test/support/fakeClock.ts";
import { RetryableError, wrapError } from "../../errors/errors.ts";
import { ConditionPoller, findWaitingError, WaitingError } from "./conditionPoller.ts";

/** Returns a clock, and a poller with records of its polls and finished waits. */
function start(intervalMs = 15_000) {
  const clock = new FakeClock();
  const over: string[] = [];
  const polledAt: number[] = [];
  const poller = new ConditionPoller({ intervalMs, clock, onOver: (name) => over.push(name) });
  const polling = (answer: () => boolean) => () => {
    polledAt.push(clock.now() / 1000);
    return Promise.resolve(answer());
  };
  const pass = async (seconds: number): Promise<void> => {
    for (let i = 0; i < seconds; i++) {
      clock.advance(1_000);
      await turn();
    }
  };
  return { clock, poller, over, polledAt, polling, pass };
}

test("ConditionPoller polls after one second, then with growing delays up to the interval, until the condition is true", async () => {
  const { poller, over, polledAt, polling, pass } = start();
  let granted = false;
  poller.begin(
    "x",
    polling(() => granted),
  );
  await pass(60);
  expect(polledAt).toEqual([1, 3, 7, 15, 30, 45, 60]);
  expect(over).toEqual([]);
  granted = true;
  await pass(15);
  expect([over, poller.size]).toEqual([["x"], 0]);
  await pass(60);
  expect(polledAt.length).toBe(8);
});

test("ConditionPoller uses a shorter interval when requested", async () => {
  const { poller, polledAt, polling, pass } = start();
  poller.begin(
    "x",
    polling(() => false),
    3_000,
  );
  await pass(16);
  expect(polledAt).toEqual([1, 3, 6, 9, 12, 15]);
});

test("ConditionPoller polls less often, up to the interval, when more extensions wait", async () => {
  for (const [waiting, last] of [
    [99, [1, 3, 7, 12]],
    [1_000, [1, 3, 7, 15]],
  ] as const) {
    const { poller, polledAt, polling, pass } = start();
    for (let i = 0; i < waiting; i++) poller.begin(`other-${i}`, () => Promise.resolve(false));
    poller.begin(
      "x",
      polling(() => false),
      3_000,
    );
    await pass(16);
    poller.endAll();
    expect(polledAt).toEqual(last);
  }
});

test("ConditionPoller uses an interval below one second from the start", async () => {
  const { poller, polledAt, polling, clock } = start(100);
  poller.begin(
    "x",
    polling(() => false),
  );
  for (let i = 0; i < 3; i++) {
    clock.advance(100);
    await turn();
  }
  expect(polledAt).toEqual([0.1, 0.2, 0.3]);
});

test("ConditionPoller requeues the extension when a poll fails", async () => {
  const { poller, over, pass } = start();
  poller.begin("x", () => Promise.reject(new Error("connection refused")));
  await pass(1);
  expect(over).toEqual(["x"]);
});

test("ConditionPoller stops polling when a wait is replaced or ended", async () => {
  const { poller, over, pass, polling, clock } = start();
  poller.begin("x", () => Promise.resolve(true));
  poller.begin(
    "x",
    polling(() => false),
  );
  poller.begin("y", () => Promise.resolve(true));
  poller.end("y");
  await pass(5);
  expect([over, poller.size]).toEqual([[], 1]);
  poller.endAll();
  await turn();
  expect([poller.size, clock.pending]).toEqual([0, 0]);
});

test("ConditionPoller ignores a result after the end of the wait", async () => {
  const { poller, over, pass } = start();
  const answer = Promise.withResolvers<boolean>();
  poller.begin("x", () => answer.promise);
  await pass(1);
  poller.end("x");
  answer.resolve(true);
  await pass(1);
  expect(over).toEqual([]);
});

test("findWaitingError finds a WaitingError in the causes of an error", () => {
  const waiting = new WaitingError("Retrying", "permissions are missing", { isOver: () => Promise.resolve(false) });
  expect(findWaitingError(wrapError("error for resolved bundle: ", waiting))).toBe(waiting);
  expect(findWaitingError(new RetryableError("Retrying", "something else"))).toBeUndefined();
});
