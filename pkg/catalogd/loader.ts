import { existsSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import type { IndexColumns } from "./contentIndex.ts";
import type { ContentLimits, LoadMessage, LoadTask } from "./loadMessage.ts";

const MIB = 1024 * 1024;

/** Room for several times the largest catalogs known (540 MB in one file, 20,000 objects, 1.3 MB an object). */
export const CONTENT_LIMITS: ContentLimits = {
  files: 100_000,
  fileBytes: 2_048 * MIB,
  totalBytes: 4_096 * MIB,
  documentBytes: 64 * MIB,
  metas: 2_000_000,
};

/** What was read from a catalog's files. */
export interface LoadedContent {
  files: number;
  columns: IndexColumns;
}

/** Bounds of the worker's heap: with many small generations the memory stays small, with an end the process survives a catalog that does not fit. */
const HEAP = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 768 };

/**
 * Turns the files of catalogs into content files, one catalog at a time, in a worker thread: requests are answered meanwhile, and the memory it
 * takes is given back.
 */
export class Loader {
  readonly #limits: ContentLimits;
  #last: Promise<unknown> = Promise.resolve();

  constructor(limits: ContentLimits = CONTENT_LIMITS) {
    this.#limits = limits;
  }

  /**
   * Reads the catalog at `root` and writes its content file into the folder `staging`.
   * @throws Error whose text names file, document, line and reason.
   */
  load(root: string, staging: string, signal: AbortSignal): Promise<LoadedContent> {
    const turn = this.#last.then(() => run({ root, staging, limits: this.#limits }, signal));
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}

async function run(task: LoadTask, signal: AbortSignal): Promise<LoadedContent> {
  signal.throwIfAborted();
  const worker = new Worker(workerFile(), { workerData: task, resourceLimits: HEAP, env: {} });
  const stop = (): void => void worker.terminate();
  signal.addEventListener("abort", stop, { once: true });
  try {
    const message = await new Promise<LoadMessage>((resolve, reject) => {
      worker.once("message", resolve);
      worker.on("error", reject);
      worker.once("exit", () => reject(signal.reason ?? new Error("the thread that reads the catalog ended early")));
    });
    if (message.kind === "failed") throw new Error(message.message);
    return { files: message.files, columns: message.columns };
  } finally {
    signal.removeEventListener("abort", stop);
    await worker.terminate();
  }
}

/** Beside a bundled program stands the bundled worker; in a checkout the source runs as it is. */
function workerFile(): string {
  const bundled = join(import.meta.dirname, "loadWorker.js");
  return existsSync(bundled) ? bundled : join(import.meta.dirname, "loadWorker.ts");
}
