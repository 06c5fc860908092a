import * as fc from "fast-check";
import { expect, test } from "vitest";
import { CatalogImages, computeNextPollMs, getPollReason, type PollRecord } from "./catalogImages.ts";

const RECORD: PollRecord = { ref: "r/c:v1", canonical: "r/c@sha256:1", generation: 3, at: 1_000_000 };
const SUBJECT = { ref: "r/c:v1", generation: 3, intervalMinutes: undefined };

test.for([
  ["nothing is stored", undefined, SUBJECT, 0, "no cached catalog metadata found for this catalog"],
  ["nothing changed", RECORD, SUBJECT, 9e12, undefined],
  ["the spec changed", RECORD, { ...SUBJECT, generation: 4 }, 0, "catalog generation differs from observed generation"],
  ["the image reference changed", RECORD, { ...SUBJECT, ref: "r/c:v2" }, 0, "catalog generation differs from observed generation"],
  ["the interval has not elapsed", RECORD, { ...SUBJECT, intervalMinutes: 1 }, 1_060_000, undefined],
  ["the clock was set back", RECORD, { ...SUBJECT, intervalMinutes: 1 }, 999_999, "the clock was set back"],
  ["the clock was set back without an interval", RECORD, SUBJECT, 999_999, undefined],
  ["the interval has elapsed", RECORD, { ...SUBJECT, intervalMinutes: 1 }, 1_060_001, "poll duration has elapsed"],
] as const)("getPollReason returns the reason for a poll, or undefined if no poll is due, when %s", ([, record, subject, now, want]) => {
  expect(getPollReason(record, subject, now)).toBe(want);
});

test("a reconcile that is requeued for a poll runs when the poll is due, and at most 1% late", () => {
  const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 100_000 }),
      fc.integer({ min: 0, max: 1e12 }),
      fc.nat(1e6),
      random,
      (minutes, at, later, jitter) => {
        const now = at + later;
        const wait = computeNextPollMs(at, minutes, now, jitter) ?? Number.NaN;
        expect(wait).toBeGreaterThanOrEqual(1);
        expect(getPollReason({ ...RECORD, at }, { ...SUBJECT, intervalMinutes: minutes }, now + wait)).toBe("poll duration has elapsed");
        expect(now + wait).toBeLessThanOrEqual(Math.max(now, at + minutes * 60_000 * 1.01) + 2);
      },
    ),
  );
});

test("the next poll is due after one interval when the clock was set back by years", () => {
  expect(computeNextPollMs(Date.parse("2031-01-01T00:00:00Z"), 1, Date.parse("2026-01-01T00:00:00Z"), 0)).toBe(60_001);
});

test("a fetch lets the puller decide whether the content of a digest is stored", async () => {
  const answers: boolean[] = [];
  const resolve = (_ref: string, _signal: AbortSignal, isStored: (canonical: string) => boolean) => {
    answers.push(isStored("r/c@sha256:1"), isStored("r/c@sha256:2"));
    return Promise.resolve({ canonical: "r/c@sha256:1", digest: "sha256:1" });
  };
  const images = new CatalogImages(
    { resolve, pull: () => Promise.reject(new Error("pulled")), remove: () => Promise.resolve() },
    () => undefined,
  );
  const fetch = () => images.fetch("c", "r/c:v1", (canonical) => canonical === "r/c@sha256:1");
  await expect.poll(fetch).toMatchObject({ kind: "done", value: { resolved: { digest: "sha256:1" } } });
  expect(answers).toEqual([true, false]);
  await images.close();
});

test("no poll is scheduled without an interval", () => {
  expect(computeNextPollMs(0, undefined, 0, 0)).toBeUndefined();
});
