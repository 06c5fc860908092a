import { mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Worker } from "node:worker_threads";
import { fuzzCase } from "./fuzzCase.ts";
import type { FuzzReport, FuzzTask } from "./fuzzWorker.ts";

/** A failed case. */
export interface FuzzFailure {
  readonly number: number;
  readonly fault: string;
  /** Folder with its files and a description of its mutations. */
  readonly folder: string;
}

/** Result of a run. */
export interface FuzzResult {
  readonly failures: readonly FuzzFailure[];
  /** Number of cases that were rendered, and of all cases. */
  readonly rendered: number;
  readonly tried: number;
  /** Longest CPU time, with the number of its case. */
  readonly slowest: { readonly seconds: number; readonly number: number };
}

/** Maximum CPU time of one case: a hostile bundle must not block the controller for longer. */
const MAX_CPU_SECONDS = 5;
/** Time after which a case counts as hanging. Much longer than the limit, because the machine may be busy. */
const HANGS_MS = 60_000;
const MAX_FAILURES = 20;
/** Memory of a thread, the same as that of the controller's container. */
const LIMITS = { maxOldGenerationSizeMb: 512 };

/** Runs cases in threads, which are terminated when a case hangs or needs too much memory. */
export class FuzzRun {
  readonly #failures: FuzzFailure[] = [];
  readonly #bundles: readonly string[];
  readonly #seed: number;
  readonly #target: FuzzTask["target"];
  #rendered = 0;
  #tried = 0;
  #slowest = { seconds: 0, number: -1 };

  constructor(bundles: readonly string[], seed: number, target: FuzzTask["target"]) {
    this.#target = target;
    this.#bundles = bundles;
    this.#seed = seed;
  }

  /** @param threads number of concurrent threads. */
  async run(count: number, threads: number): Promise<FuzzResult> {
    const runs = Array.from({ length: threads }, (_, index) => this.#runThreads(index, count, threads));
    await Promise.all(runs);
    return { failures: this.#failures, rendered: this.#rendered, tried: this.#tried, slowest: this.#slowest };
  }

  /** Starts a new thread after each case that ended the previous one. */
  async #runThreads(first: number, end: number, step: number): Promise<void> {
    for (let next = first; next < end && this.#failures.length < MAX_FAILURES; ) {
      const ended = await this.#thread({ target: this.#target, bundles: this.#bundles, seed: this.#seed, first: next, end, step });
      if (ended.fault !== undefined) this.#fail(ended.number, ended.fault);
      next = ended.number + step;
    }
  }

  /** Runs one thread. @returns the last case, and the fault that ended the thread. */
  #thread(task: FuzzTask): Promise<{ number: number; fault?: string }> {
    const worker = new Worker(join(import.meta.dirname, "fuzzWorker.ts"), { workerData: task, resourceLimits: LIMITS });
    let number = task.first;
    let fault: string | undefined;
    let timer: NodeJS.Timeout | undefined;
    return new Promise((resolve) => {
      worker.on("message", (report: FuzzReport) => {
        clearTimeout(timer);
        number = report.number;
        if (report.kind === "done") return this.#record(report);
        timer = setTimeout(() => {
          fault = `still running after ${HANGS_MS / 1_000} s`;
          void worker.terminate();
        }, HANGS_MS);
      });
      worker.on("error", (err) => {
        fault ??= `ended the thread: ${err.stack ?? err.message}`;
      });
      worker.once("exit", () => {
        clearTimeout(timer);
        resolve(fault === undefined ? { number } : { number, fault });
      });
    });
  }

  #record({ number, cpuSeconds, result, fault }: Extract<FuzzReport, { kind: "done" }>): void {
    this.#tried++;
    if (result.endsWith(" objects")) this.#rendered++;
    if (cpuSeconds > this.#slowest.seconds) this.#slowest = { seconds: cpuSeconds, number };
    if (fault !== undefined) this.#fail(number, fault);
    else if (cpuSeconds > MAX_CPU_SECONDS) this.#fail(number, `took ${cpuSeconds.toFixed(1)} s of CPU time: ${result}`);
  }

  #fail(number: number, fault: string): void {
    const { origins, steps, files, options } = fuzzCase(this.#bundles, this.#seed, number);
    const folder = join(tmpdir(), "olmv1-fuzz", this.#target, `${this.#seed}`, `${number}`);
    for (const [path, content] of files) {
      const file = join(folder, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
    }
    mkdirSync(folder, { recursive: true });
    const { certProvider, ...others } = options;
    const description = { origins, steps, options: { ...others, certProvider: certProvider?.name }, fault };
    writeFileSync(
      join(folder, "case.json"),
      JSON.stringify(description, (_, value: unknown) => (typeof value === "bigint" ? `${value}` : value), 2),
    );
    this.#failures.push({ number, fault, folder });
  }
}
