import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { FigureId } from "../goals.ts";
import type { BenchContext, Figure, Measurement } from "../measurement.ts";

const RUNS = 20;
const SAMPLE = join(import.meta.dirname, "../../../pkg/devcluster/sample/catalog");
const run = promisify(execFile);

/** Runs the command line as a process: the cost of every command, and of one that reads a small catalog. */
export const commandLineMeasurement: Measurement = {
  name: "command-line",
  title: "run time of olmv1 processes",
  figures: ["command-line.start", "command-line.complete", "command-line.resolve"],
  async *run(context) {
    const program = join(await context.programs(), "olmv1.js");
    yield await measureCommand("command-line.start", context, program, ["--help"]);
    yield await measureCommand("command-line.complete", context, program, ["__complete", "resolve", "--"]);
    yield await measureCommand("command-line.resolve", context, program, ["resolve", "hello-operator", "--catalog-dir", SAMPLE]);
  },
};

async function measureCommand(id: FigureId, { runs = RUNS, say }: BenchContext, program: string, args: readonly string[]): Promise<Figure> {
  const samples: number[] = [];
  await run(process.execPath, [program, ...args]); // reads the files from disk, so that they are cached for the measured runs
  for (let i = 0; i < runs; i++) {
    const began = performance.now();
    await run(process.execPath, [program, ...args]);
    samples.push((performance.now() - began) / 1_000);
  }
  say(`olmv1 ${args[0] ?? ""}: ${runs} runs`);
  return { id, samples };
}
