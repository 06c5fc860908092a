import { mkdtempSync, rmSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runMain, UsageError } from "../cases/runMain.ts";
import { sharedData } from "../support/sharedDataFolder.ts";
import { type BenchArguments, parseBenchArguments, USAGE } from "./arguments.ts";
import { calibrate } from "./calibration.ts";
import { type FigureId, GOALS } from "./goals.ts";
import { MEASUREMENTS } from "./measurements/all.ts";
import { buildPrograms, environmentOfImage } from "./programs.ts";
import { createReport, type Report } from "./report.ts";
import { runMeasurements } from "./runMeasurements.ts";
import { formatTable } from "./table.ts";

/**
 * Runs the measurements in the arguments and prints the table. @returns the exit status: 0, or 1 if a measurement
 * failed.
 */
async function main(args: readonly string[]): Promise<number> {
  const options = parseBenchArguments(args, MEASUREMENTS, process.env["INIT_CWD"] ?? process.cwd());
  if (options.help || options.list) {
    console.log(options.help ? USAGE : list());
    return 0;
  }
  const baseline = options.baseline === undefined ? undefined : await reportIn(options.baseline);
  keepTemporaryFilesTogether();
  for (const [name, value] of Object.entries(await environmentOfImage())) process.env[name] ??= value;
  const report = await measure(options);
  console.log(formatTable(report, baseline));
  if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(report, null, 2)}\n`);
  return report.failed.length > 0 ? 1 : 0;
}

async function measure({ chosen, ...limits }: BenchArguments): Promise<Report> {
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  say("calibration");
  const start = calibrate();
  const outcomes = await runMeasurements(chosen, { ...limits, data: sharedData(), programs: buildPrograms(say), say });
  return createReport(outcomes, { start, end: calibrate() }, new Date());
}

function list(): string {
  const width = Math.max(...MEASUREMENTS.map(({ name }) => name.length));
  const measured = new Set<FigureId>(MEASUREMENTS.flatMap(({ figures }) => figures));
  const open = (Object.keys(GOALS) as FigureId[]).filter((id) => !measured.has(id));
  return [
    ...MEASUREMENTS.map(({ name, title }) => `${name.padEnd(width)}  ${title}`),
    "",
    "not measured yet:",
    ...open.map((id) => `  ${GOALS[id].work.trim()}`),
  ].join("\n");
}

async function reportIn(file: string): Promise<Report> {
  const report = JSON.parse(await readFile(file, "utf8")) as Partial<Report>;
  if (!Array.isArray(report.figures)) throw new UsageError(`${file} is not a report of this program`);
  return report as Report;
}

/** Puts all files below one folder, which is removed when this process ends, also after Ctrl-C. */
function keepTemporaryFilesTogether(): void {
  const folder = mkdtempSync(join(tmpdir(), "olmv1-bench-"));
  process.env["TMPDIR"] = folder;
  process.once("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  for (const [signal, status] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const) {
    process.once(signal, () => process.exit(status));
  }
}

await runMain(main, USAGE);
