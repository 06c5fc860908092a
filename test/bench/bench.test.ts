import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { UsageError } from "../cases/runMain.ts";
import { parseBenchArguments } from "./arguments.ts";
import { calibrationLoop } from "./calibration.ts";
import { GOALS } from "./goals.ts";
import { TinyPackage } from "./many/tinyPackage.ts";
import { type BenchContext, type Figure, type Measurement, Skipped } from "./measurement.ts";
import { MEASUREMENTS } from "./measurements/all.ts";
import { readProcessUse } from "./processUse.ts";
import { createReport, type Report } from "./report.ts";
import { runMeasurements } from "./runMeasurements.ts";
import { computeSpread } from "./statistics.ts";
import { formatTable } from "./table.ts";
import { formatValue, type Unit } from "./units.ts";

const CALIBRATION = { start: 0.5, end: 0.5 };

function measurement(name: string, run: () => AsyncIterable<Figure>): Measurement {
  return { name, title: name, figures: [], run };
}

/** Runs tiny measurements with the same harness as the real ones. */
async function tinyReport(): Promise<{ report: Report; lines: string[] }> {
  const lines: string[] = [];
  const context: BenchContext = {
    data: undefined,
    runs: 1,
    seconds: 1,
    extensions: 1,
    settleSeconds: 1,
    restSeconds: 1,
    programs: () => Promise.reject(new Error("unexpected build")),
    say: (line) => void lines.push(line),
  };
  const measurements = [
    measurement("tiny", async function* () {
      yield { id: "http.package", samples: [400] };
      yield { id: "render", samples: [0.03, 0.01, 0.02], note: "three bundles" };
      yield { id: "unpack.peak", samples: [(await readProcessUse(process.pid)).peakRssBytes] };
    }),
    measurement("broken", async function* () {
      yield { id: "install", samples: [1] };
      throw new Error("the cable came off");
    }),
    measurement("absent", async function* () {
      if (context.data === undefined) throw new Skipped("there is no data");
      yield { id: "upgrade", samples: [1] };
    }),
    ...MEASUREMENTS.filter(({ name }) => name === "resolve"),
  ];
  return { report: createReport(await runMeasurements(measurements, context), CALIBRATION, new Date(0)), lines };
}

describe("runMeasurements and formatTable", () => {
  test("createReport returns figures in the order of GOALS, with their minimum, maximum and calibrated value", async () => {
    const { report } = await tinyReport();
    expect(report.figures.map(({ id }) => id)).toEqual(["unpack.peak", "http.package", "render", "install"]);
    expect(report.figures[1]).toMatchObject({ unit: "perSecond", median: 400, calibrated: 200 });
    expect(report.figures[2]).toMatchObject({ unit: "seconds", median: 0.02, min: 0.01, max: 0.03, calibrated: 0.04 });
    expect(report.figures[0]?.calibrated).toBeUndefined();
    expect(report.figures[0]?.median).toBeGreaterThan(10e6);
  });

  test("runMeasurements continues after a failed or skipped measurement, and reports the measurement", async () => {
    const { report, lines } = await tinyReport();
    expect(report.failed).toEqual([{ name: "broken", reason: "the cable came off" }]);
    expect(report.skipped.map(({ name }) => name)).toEqual(["absent", "resolve"]);
    expect(lines).toContain("absent: skipped: there is no data");
    expect(lines).toContain("broken: failed: the cable came off");
  });

  test("formatTable prints our figure, the goal and the Go figure", async () => {
    const { report } = await tinyReport();
    const lines = formatTable(report).split("\n");
    const row = lines.find((line) => line.startsWith(GOALS.render.work));
    expect(row?.split(/ {2,}/).slice(1)).toEqual(["20.0 ms (10.0 ms – 30.0 ms)", "≤ 15.0 ms", "48.0 ms", "0.0400"]);
    expect(lines).toContain("    three bundles");
    expect(lines).toContain("FAILED broken: the cable came off");
    expect(lines).toContain("skipped absent: there is no data");
  });

  test("formatTable compares the calibrated figures with those of a baseline report", async () => {
    const { report } = await tinyReport();
    const slower = { ...report, figures: report.figures.map((figure) => ({ ...figure, calibrated: 2 * (figure.calibrated ?? 1) })) };
    const row = formatTable(report, slower)
      .split("\n")
      .find((line) => line.startsWith(GOALS.render.work));
    expect(row?.split(/ {2,}/).at(-1)).toBe("0.500");
  });
});

test.for([
  [[3], { median: 3, min: 3, max: 3 }],
  [[3, 1, 2], { median: 2, min: 1, max: 3 }],
  [[4, 1, 2, 30], { median: 3, min: 1, max: 30 }],
] as const)("computeSpread of %j returns %j", ([samples, spread]) => {
  expect(computeSpread(samples)).toEqual(spread);
});

test.for([
  [1.15, "seconds", "1.15 s"],
  [0.048, "seconds", "48.0 ms"],
  [0.0000221, "seconds", "22.1 µs"],
  [0.0000000004, "seconds", "0.000400 µs"],
  [49, "seconds", "49.0 s"],
  [91_400_000, "bytes", "91 MB"],
  [1_480.4, "perSecond", "1,480 /s"],
  [3.5, "perSecond", "3.50 /s"],
  [0, "count", "0"],
  [0.00512, "cores", "0.512 %"],
] as [number, Unit, string][])("formatValue formats %d %s as %s", ([value, unit, text]) => {
  expect(formatValue(value, unit)).toBe(text);
});

test("calibrationLoop always does the same work", () => {
  expect(calibrationLoop(1_000, 3)).toBe(calibrationLoop(1_000, 3));
  expect(calibrationLoop(1_000, 3)).not.toBe(calibrationLoop(1_001, 3));
  expect(calibrationLoop(1_000, 3)).not.toBe(calibrationLoop(1_000, 4));
});

test("measurements have unique names and rows", () => {
  const names = MEASUREMENTS.map(({ name }) => name);
  const rows = MEASUREMENTS.flatMap(({ figures }) => figures);
  expect(new Set(names).size).toBe(names.length);
  expect(new Set(rows).size).toBe(rows.length);
});

test("TinyPackage returns bundle files, and different catalog content for each edition number", () => {
  const tiny = new TinyPackage(7);
  expect(tiny.name).toBe("tiny-0007");
  expect([...tiny.bundleFiles().keys()]).toContain("metadata/annotations.yaml");
  const bundles = [{ version: "1.0.0", image: "i" }];
  expect(tiny.catalogLines(bundles, 1)).not.toBe(tiny.catalogLines(bundles, 2));
});

describe("parseBenchArguments", () => {
  const measurements = ["one", "two"].map((name) =>
    measurement(name, async function* () {
      yield { id: "render", samples: [1] };
    }),
  );
  const listChosen = (...args: string[]): string[] => parseBenchArguments(args, measurements, "/base").chosen.map(({ name }) => name);

  test("parseBenchArguments returns the named measurements in the order of the arguments, or all measurements", () => {
    expect(listChosen("two", "one")).toEqual(["two", "one"]);
    expect(listChosen("--runs", "2")).toEqual(["one", "two"]);
    expect(parseBenchArguments(["--json", "x.json"], measurements, "/base").json).toBe("/base/x.json");
  });

  test("parseBenchArguments returns each measurement of a named group once", () => {
    const grouped = measurements.map((one) => ({ ...one, group: "pair" }));
    const names = (...args: string[]): string[] => parseBenchArguments(args, grouped, "/base").chosen.map(({ name }) => name);
    expect(names("pair")).toEqual(["one", "two"]);
    expect(names("two", "pair")).toEqual(["two", "one"]);
  });

  test.for([
    [["three"], "unknown measurement three"],
    [["--runs", "0"], "--runs needs a whole number"],
    [["--seconds", "soon"], "--seconds needs a whole number"],
    [["--fast"], "Unknown option '--fast'"],
  ] as [string[], string][])("rejects %j", ([args, message]) => {
    const parse = (): unknown => parseBenchArguments(args, measurements, "/base");
    expect(parse).toThrow(UsageError);
    expect(parse).toThrow(message);
  });

  test("the bench command lists measurements with --list, and exits with 2 for an unknown measurement", () => {
    const run = (...args: string[]) => spawnSync(process.execPath, [join(import.meta.dirname, "main.ts"), ...args], { encoding: "utf8" });
    const listed = run("--list");
    expect(listed.status).toBe(0);
    for (const { name } of MEASUREMENTS) expect(listed.stdout).toContain(name);
    const refused = run("nonsense");
    expect(refused.status).toBe(2);
    expect(refused.stderr).toMatch(/^error: unknown measurement nonsense\nusage: /);
  });
});
