import { expect, test } from "vitest";
import { FairQueue } from "./fairQueue.ts";

/** A queue whose clock is only advanced by the tasks, and the order in which the tasks ran. */
function queueOf() {
  const state = { now: 0 };
  const ran: string[] = [];
  const queue = new FairQueue(() => state.now);
  const never = new AbortController().signal;
  const run = (key: string, ms: number, fails = false): Promise<unknown> =>
    queue
      .run(
        key,
        async () => {
          ran.push(key);
          await Promise.resolve();
          state.now += ms;
          if (fails) throw new Error(`${key} failed`);
        },
        never,
      )
      .catch(() => undefined);
  return { queue, ran, run };
}

test("FairQueue runs tasks in order of arrival, one at a time", async () => {
  const { ran, run } = queueOf();
  await Promise.all(["a", "b", "c"].map((key) => run(key, 10)));
  expect(ran).toEqual(["a", "b", "c"]);
});

test("FairQueue runs all other waiting tasks first when the previous run of a task was long and failed", async () => {
  const { ran, run } = queueOf();
  await run("hostile", 120_000, true);
  const all = [run("busy", 1), run("hostile", 120_000, true), run("good", 1_000), run("better", 1_000)];
  await Promise.all(all);
  expect(ran).toEqual(["hostile", "busy", "good", "better", "hostile"]);
});

test("FairQueue delays a task by the duration of its failed runs and resets the delay after a success", async () => {
  const { ran, run } = queueOf();
  await run("slow", 100_000, true);
  await run("slower", 200_000, true);
  await Promise.all([run("busy", 1), run("slower", 1), run("slow", 1)]);
  await Promise.all([run("busy", 1), run("slower", 1), run("slow", 1)]);
  expect(ran.slice(2)).toEqual(["busy", "slow", "slower", "busy", "slower", "slow"]);
});

test("FairQueue runs a task that has waited for a long time before newer tasks, even if its previous run failed", async () => {
  const { ran, run } = queueOf();
  await run("hostile", 60_000, true);
  const first = run("long", 61_000);
  const waiting = run("hostile", 1);
  const later = first.then(() => run("fresh", 1));
  await Promise.all([first, waiting, later]);
  expect(ran).toEqual(["hostile", "long", "hostile", "fresh"]);
});

test("FairQueue never runs a task that is aborted while waiting", async () => {
  const { queue, ran, run } = queueOf();
  const stop = new AbortController();
  const busy = run("busy", 1);
  const given = queue.run("aborted", () => Promise.resolve(ran.push("aborted")), stop.signal);
  stop.abort(new Error("no longer needed"));
  await expect(given).rejects.toThrow("no longer needed");
  await busy;
  await run("next", 1);
  expect(ran).toEqual(["busy", "next"]);
});
