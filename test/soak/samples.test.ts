import { expect, test } from "vitest";
import { soakReport } from "./report.ts";
import { computeGrowth, listFaults, type Sample, summarizeRest } from "./samples.ts";

const MB = 1024 * 1024;
const sample = (seconds: number, megabytes: number, more: Partial<Sample> = {}): Sample => ({
  seconds,
  rssBytes: megabytes * MB,
  sockets: 5,
  watches: 40,
  ...more,
});

test.for<[string, Sample[], number]>([
  ["zero without samples", [], 0],
  ["zero for one sample", [sample(600, 100)], 0],
  ["zero without a change", [sample(600, 100), sample(1_200, 100)], 0],
  ["two megabytes in ten minutes", [sample(600, 100), sample(900, 101), sample(1_200, 102)], 2 * MB],
  ["zero if only warm-up grows", [sample(0, 10), sample(600, 100), sample(1_200, 100)], 0],
  ["zero for a temporary increase", [sample(600, 100), sample(700, 104), sample(800, 104), sample(900, 100)], 0],
])("computeGrowth returns %s", ([, samples, want]) => {
  expect(computeGrowth(samples, 600)).toBeCloseTo(want, 0);
});

test("summarizeRest returns the last sample with the fewest sockets when samples at rest differ", () => {
  const samples = [
    sample(10, 100, { sockets: 1 }),
    sample(600, 101, { sockets: 6 }),
    sample(610, 102, { sockets: 5 }),
    sample(620, 103, { sockets: 7 }),
  ];
  expect(summarizeRest(samples, 600)).toEqual(sample(620, 103, { sockets: 5 }));
  expect(summarizeRest(samples, 700)).toBeUndefined();
});

test("listFaults reports memory growth and additional sockets or watches, and accepts fewer sockets", () => {
  const course = { program: "catalogd", samples: [sample(600, 100), sample(1_200, 103)], first: sample(10, 100), last: sample(1_300, 103) };
  expect(listFaults({ ...course, last: sample(1_300, 103, { sockets: 7, watches: 41 }) }, 600)).toEqual([
    "catalogd grows by 3.00 MB in ten minutes, more than 1.00",
    "catalogd has 7 sockets at the end but had 5 at the start",
    "catalogd has 41 watches at the end but had 40 at the start",
  ]);
  const sound = { ...course, samples: [], last: sample(1_300, 100, { sockets: 4 }) };
  expect(listFaults(sound, 600)).toEqual([]);
  const run = {
    minutes: 30,
    extensions: 20,
    seed: 1,
    editions: 7,
    reads: 90,
    warmUpSeconds: 600,
    violations: [],
    writesAtRest: [],
    missing: [],
  };
  const report = soakReport({
    ...run,
    courses: [sound],
    counts: { upgraded: 9, reinstalled: 3, damaged: 3 },
    recoveries: new Map([["registry down", [1, 3]]]),
  });
  expect(report).toContain("| registry down | 2 | 2 s | 3 s |");
  expect(report).toContain("| catalogd | 0.00 MB | 100.00 MB | 100.00 MB | 5 | 4 | 40 | 40 |");
  expect(report).toContain("No violation.");
});
