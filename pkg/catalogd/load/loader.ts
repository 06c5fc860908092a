import { dirname } from "node:path";
import { Worker } from "node:worker_threads";
import { FairQueue } from "../../async/fairQueue.ts";
import { workerFile } from "../../async/taskThread.ts";
import { excerpt } from "../../text/truncate.ts";
import type { ArtifactName, FindingsSummary } from "../store/content.ts";
import type { IndexColumns } from "../store/contentIndex.ts";
import type { CatalogValidation } from "./findingsArtifact.ts";
import { type ContentLimits, CurrentFile, type LoadEnd, type LoadMessage, type LoadTask } from "./loadMessage.ts";

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
  /** The index of each artifact's file. */
  artifacts: ReadonlyMap<ArtifactName, IndexColumns>;
  findings: FindingsSummary;
}

/** How long reading a catalog may take. */
interface LoadDeadline {
  /** For any catalog. */
  baseMs: number;
  /** Beside that for each MiB of its files. */
  perMibMs: number;
  /** At most in all. */
  maxMs: number;
}

/** Forty times what reading takes on an idle machine; a small catalog that was made to take for ever is over in two minutes. */
const DEADLINE: LoadDeadline = { baseMs: 120_000, perMibMs: 500, maxMs: 600_000 };

/** How catalogs are read. */
export interface LoaderOptions {
  limits?: ContentLimits;
  /** Default "Warn". */
  validation?: CatalogValidation;
  deadline?: LoadDeadline;
  /** Of the memory that reading a catalog may take; default 768. */
  heapMib?: number;
}

/** A catalog that cannot be read however often it is tried. */
export class InvalidCatalogError extends Error {
  override readonly name = "InvalidCatalogError";
}

/** The end of the worker's heap: a catalog that does not fit fails, and the process goes on. */
const HEAP_MIB = 768;
/** With many small generations the memory stays small; with smaller ones a tenth of the time goes into collecting them. */
const YOUNG_MIB = 16;
const ADVICE = "divide what is large or deeply nested, or exclude the file with .indexignore";

/**
 * Turns the files of catalogs into content files in a worker thread: requests are answered meanwhile, the memory it takes is given back, and
 * a catalog that takes too long or too much memory fails alone. One catalog is read at a time, so that memory is bounded; those that fail after
 * a long time let others pass.
 */
export class Loader {
  readonly #work: Pick<LoadTask, "limits" | "validation">;
  readonly #bounds: Bounds;
  readonly #queue = new FairQueue();

  constructor({ limits = CONTENT_LIMITS, validation = "Warn", deadline = DEADLINE, heapMib = HEAP_MIB }: LoaderOptions = {}) {
    this.#work = { limits, validation };
    this.#bounds = { deadline, heapMib };
  }

  /**
   * Reads the catalog at `root` and writes the files of its artifacts into the folder `staging`, which lies in a folder of this catalog alone.
   * @throws Error whose text names file, document, line and reason, or the file at which time or memory ended.
   */
  load(root: string, staging: string, signal: AbortSignal): Promise<LoadedContent> {
    return this.#queue.run(dirname(staging), () => run({ root, staging, ...this.#work }, this.#bounds, signal), signal);
  }
}

interface Bounds {
  deadline: LoadDeadline;
  heapMib: number;
}

async function run(task: Omit<LoadTask, "at">, { deadline, heapMib }: Bounds, signal: AbortSignal): Promise<LoadedContent> {
  signal.throwIfAborted();
  const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_MIB, maxOldGenerationSizeMb: heapMib };
  const current = new CurrentFile();
  const at = (): string => excerpt(current.get()) || "its list of files";
  const worker = new Worker(workerFile(import.meta.dirname, "loadWorker"), {
    workerData: { ...task, at: current.shared } satisfies LoadTask,
    resourceLimits,
    env: {},
  });
  const stop = (): void => void worker.terminate();
  signal.addEventListener("abort", stop, { once: true });
  let timer: NodeJS.Timeout | undefined;
  try {
    const message = await new Promise<LoadEnd>((resolve, reject) => {
      const endAfter = (ms: number): void => {
        clearTimeout(timer);
        timer = setTimeout(() => {
          const text = `reading the catalog did not end within ${Math.round(ms / 1_000)} s and was stopped at ${at()}; ${ADVICE}`;
          reject(new DOMException(text, "TimeoutError"));
          stop();
        }, ms);
      };
      endAfter(deadline.baseMs);
      worker.on("message", (said: LoadMessage) => {
        if (said.kind === "listed") endAfter(Math.min(deadline.maxMs, deadline.baseMs + (said.bytes / MIB) * deadline.perMibMs));
        else resolve(said);
      });
      worker.on("error", (err) =>
        reject(
          outOfMemory(err)
            ? new InvalidCatalogError(`reading the catalog took more than ${heapMib} MiB of memory at ${at()}; ${ADVICE}`)
            : err,
        ),
      );
      worker.once("exit", () => reject(signal.reason ?? new Error(`the thread that reads the catalog ended early, at ${at()}`)));
    });
    if (message.kind === "failed") throw message.isContent ? new InvalidCatalogError(message.message) : new Error(message.message);
    return { files: message.files, artifacts: message.artifacts, findings: message.findings };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    await worker.terminate();
  }
}

function outOfMemory(err: unknown): boolean {
  return (err as NodeJS.ErrnoException).code === "ERR_WORKER_OUT_OF_MEMORY";
}
