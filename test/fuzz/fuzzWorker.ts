import { parentPort, workerData } from "node:worker_threads";
import { checkCatalogCase } from "./catalogOutcome.ts";
import { fuzzCase } from "./fuzzCase.ts";
import { checkBundleCase, type Outcome } from "./outcome.ts";

/** Input of the thread. */
export interface FuzzTask {
  /** What is rendered from each case: objects of an installation, or the blob of a catalog. */
  readonly target: "objects" | "catalog";
  readonly bundles: readonly string[];
  readonly seed: number;
  /** Numbers of the cases: from `first`, in steps of `step`, below `end`. */
  readonly first: number;
  readonly end: number;
  readonly step: number;
}

/** Messages of the thread before and after each case. */
export type FuzzReport =
  | { readonly number: number; readonly kind: "started" }
  | ({ readonly number: number; readonly kind: "done"; readonly cpuSeconds: number } & Outcome);

const { target, bundles, seed, first, end, step } = workerData as FuzzTask;
for (let number = first; number < end; number += step) {
  report({ number, kind: "started" });
  const { files, options } = fuzzCase(bundles, seed, number);
  const before = process.threadCpuUsage();
  const outcome = target === "catalog" ? await checkCatalogCase(files) : checkBundleCase(files, options);
  const { user, system } = process.threadCpuUsage(before);
  report({ number, kind: "done", cpuSeconds: (user + system) / 1e6, ...outcome });
}

function report(message: FuzzReport): void {
  parentPort?.postMessage(message, []);
}
