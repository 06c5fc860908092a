import { parentPort, workerData } from "node:worker_threads";
import { catalogOutcomeOf } from "./catalogOutcome.ts";
import { fuzzCase } from "./fuzzCase.ts";
import { type Outcome, outcomeOf } from "./outcome.ts";

/** What the thread is started with. */
export interface FuzzTask {
  /** What is made of each case: the objects of an installation, or what a catalog has for it. */
  readonly target: "objects" | "catalog";
  readonly bundles: readonly string[];
  readonly seed: number;
  /** Numbers of the cases: from the first on, `step` apart, below `end`. */
  readonly first: number;
  readonly end: number;
  readonly step: number;
}

/** What the thread tells of each case, before it and after it. */
export type FuzzReport =
  | { readonly number: number; readonly kind: "begun" }
  | ({ readonly number: number; readonly kind: "done"; readonly cpuSeconds: number } & Outcome);

const { target, bundles, seed, first, end, step } = workerData as FuzzTask;
for (let number = first; number < end; number += step) {
  tell({ number, kind: "begun" });
  const { files, options } = fuzzCase(bundles, seed, number);
  const before = process.threadCpuUsage();
  const outcome = target === "catalog" ? await catalogOutcomeOf(files) : outcomeOf(files, options);
  const { user, system } = process.threadCpuUsage(before);
  tell({ number, kind: "done", cpuSeconds: (user + system) / 1e6, ...outcome });
}

function tell(report: FuzzReport): void {
  parentPort?.postMessage(report, []);
}
