import { mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Worker } from "node:worker_threads";
import { fuzzCase } from "./fuzzCase.ts";
import type { FuzzReport, FuzzTask } from "./fuzzWorker.ts";

/** What went wrong with one case. */
export interface FuzzFailure {
  readonly number: number;
  readonly fault: string;
  /** Where its files lie, with the way it was made. */
  readonly folder: string;
}

/** What a run came to. */
export interface FuzzResult {
  readonly failures: readonly FuzzFailure[];
  /** Cases that were rendered, and all that were tried. */
  readonly rendered: number;
  readonly tried: number;
  /** Of processor time, and which case it was. */
  readonly slowest: { readonly seconds: number; readonly number: number };
}

/** Of processor time, for one case: a hostile bundle must not hold the controller up for longer. */
const MAX_CPU_SECONDS = 5;
/** After this a case is taken to hang: far more than it may take, for the machine may be busy. */
const HANGS_MS = 60_000;
const MAX_FAILURES = 20;
/** A thread gets no more than the controller's container has. */
const LIMITS = { maxOldGenerationSizeMb: 512 };

/** Tries as many cases as are asked for, in threads that are ended when a case hangs or takes too much memory. */
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

  /** @param threads that work side by side. */
  async run(count: number, threads: number): Promise<FuzzResult> {
    const lanes = Array.from({ length: threads }, (_, lane) => this.#lane(lane, count, threads));
    await Promise.all(lanes);
    return { failures: this.#failures, rendered: this.#rendered, tried: this.#tried, slowest: this.#slowest };
  }

  /** Starts a thread anew behind a case that ended it. */
  async #lane(first: number, end: number, step: number): Promise<void> {
    for (let next = first; next < end && this.#failures.length < MAX_FAILURES; ) {
      const ended = await this.#thread({ target: this.#target, bundles: this.#bundles, seed: this.#seed, first: next, end, step });
      if (ended.fault !== undefined) this.#fail(ended.number, ended.fault);
      next = ended.number + step;
    }
  }

  /** @returns the case that was tried last, and what it ended the thread with. */
  #thread(task: FuzzTask): Promise<{ number: number; fault?: string }> {
    const worker = new Worker(join(import.meta.dirname, "fuzzWorker.ts"), { workerData: task, resourceLimits: LIMITS });
    let number = task.first;
    let fault: string | undefined;
    let timer: NodeJS.Timeout | undefined;
    return new Promise((resolve) => {
      worker.on("message", (report: FuzzReport) => {
        clearTimeout(timer);
        number = report.number;
        if (report.kind === "done") return this.#note(report);
        timer = setTimeout(() => {
          fault = `still at it after ${HANGS_MS / 1_000} s`;
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

  #note({ number, cpuSeconds, result, fault }: Extract<FuzzReport, { kind: "done" }>): void {
    this.#tried++;
    if (result.endsWith(" objects")) this.#rendered++;
    if (cpuSeconds > this.#slowest.seconds) this.#slowest = { seconds: cpuSeconds, number };
    if (fault !== undefined) this.#fail(number, fault);
    else if (cpuSeconds > MAX_CPU_SECONDS) this.#fail(number, `took ${cpuSeconds.toFixed(1)} s of processor time: ${result}`);
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
    const made = { origins, steps, options: { ...others, certProvider: certProvider?.name }, fault };
    writeFileSync(
      join(folder, "case.json"),
      JSON.stringify(made, (_, value: unknown) => (typeof value === "bigint" ? `${value}` : value), 2),
    );
    this.#failures.push({ number, fault, folder });
  }
}
