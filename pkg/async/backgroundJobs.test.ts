import { expect, test } from "vitest";
import { FakeClock } from "../../test/support/fakeClock.ts";
import { BackgroundJobs, type JobWork } from "./backgroundJobs.ts";

/** Work that the test ends, and that reports when the test says so. */
function newWork() {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const state = { starts: 0, aborted: false, report: undefined as unknown as (progress: number) => void, resolve, reject };
  const work: JobWork<number, string> = (signal, report) => {
    state.starts++;
    state.report = report;
    signal.addEventListener("abort", () => {
      state.aborted = true;
      reject(new Error("aborted"));
    });
    return promise;
  };
  return { state, work };
}

const signal = new AbortController().signal;

test("BackgroundJobs runs one job for each owner and key, and keeps its outcome until it is forgotten", async () => {
  const jobs = new BackgroundJobs<number, string>(new FakeClock(), 1_000);
  const { state, work } = newWork();
  jobs.follow("a", "k", 0, work);
  state.report(7);
  expect(jobs.follow("a", "k", 0, work)).toMatchObject({ progress: 7, outcome: undefined });
  expect(jobs.find("b", "k")).toBeUndefined();
  state.resolve("done");
  await jobs.wait("a", "k", 1_000, signal);
  jobs.forget("b");
  jobs.forget("a", "other");
  expect(jobs.follow("a", "k", 0, work).outcome).toEqual({ result: "done" });
  expect(state.starts).toBe(1);
  jobs.forget("a");
  jobs.follow("a", "k", 0, work);
  expect(state.starts).toBe(2);
});

test("BackgroundJobs keeps the error of a failed job", async () => {
  const jobs = new BackgroundJobs<number, string>(new FakeClock(), 1_000);
  const { state, work } = newWork();
  jobs.follow("a", "k", 0, work);
  state.reject(new Error("denied"));
  await jobs.wait("a", "k", 1_000, signal);
  expect(jobs.find("a", "k")?.outcome).toEqual({ error: new Error("denied") });
});

test("BackgroundJobs.wait returns after its time when the job continues", async () => {
  const clock = new FakeClock();
  const jobs = new BackgroundJobs<number, string>(clock, 1_000);
  jobs.follow("a", "k", 0, newWork().work);
  const waited = jobs.wait("a", "k", 500, signal);
  clock.advance(500);
  await waited;
  expect(jobs.find("a", "k")?.outcome).toBeUndefined();
});

test("BackgroundJobs stops a job that its owner no longer follows, at its next report", async () => {
  const clock = new FakeClock();
  const jobs = new BackgroundJobs<number, string>(clock, 1_000);
  const { state, work } = newWork();
  jobs.follow("a", "k", 0, work);
  clock.advance(900);
  jobs.find("a", "another key");
  clock.advance(900);
  state.report(1);
  expect(state.aborted).toBe(false);
  clock.advance(101);
  state.report(2);
  expect(state.aborted).toBe(true);
  await expect.poll(() => jobs.find("a", "k")).toBeUndefined();
});

test("BackgroundJobs.end stops all jobs and waits for them", async () => {
  const jobs = new BackgroundJobs<number, string>(new FakeClock(), 1_000);
  const works = [newWork(), newWork()];
  for (const [index, { work }] of works.entries()) jobs.follow("a", String(index), 0, work);
  await jobs.end();
  expect(works.map(({ state }) => state.aborted)).toEqual([true, true]);
  expect(jobs.find("a", "0")).toBeUndefined();
});
