import { dirname } from "node:path";
import { Worker } from "node:worker_threads";
import { FairQueue } from "../../async/fairQueue.ts";
import { buildWorkerEnv, getWorkerFile } from "../../async/taskThread.ts";
import { truncateExcerpt } from "../../text/truncate.ts";
import type { ArtifactName, FindingsSummary } from "../store/content.ts";
import type { IndexColumns } from "../store/contentIndex.ts";
import type { CatalogValidation } from "./findingsArtifact.ts";
import { type ContentLimits, CurrentFile, type LoadEnd, type LoadMessage, type LoadTask } from "./loadMessage.ts";

const MIB = 1024 * 1024;

/**
 * Limits several times above the largest known catalogs (540 MB in one file, 20,000 objects, 1.3 MB
 * per object). The server keeps the names of artifacts "catalog" and "properties", of the old and
 * the new content, with up to two bytes per character: at most 256 MiB for 32 Mi characters.
 */
export const CONTENT_LIMITS: ContentLimits = {
  files: 100_000,
  fileBytes: 2_048 * MIB,
  totalBytes: 4_096 * MIB,
  documentBytes: 64 * MIB,
  metas: 2_000_000,
  keyLength: 64 * 1024,
  totalKeyLength: 32 * 1024 * 1024,
};

/** Data read from the files of a catalog. */
export interface LoadedContent {
  files: number;
  /** The index of each artifact file. */
  artifacts: ReadonlyMap<ArtifactName, IndexColumns>;
  findings: FindingsSummary;
}

/** Time limit for reading a catalog. */
interface LoadDeadline {
  /** Base time for every catalog. */
  baseMs: number;
  /** Additional time for each MiB of catalog files. */
  perMibMs: number;
  /** Maximum total time. */
  maxMs: number;
}

/**
 * Forty times the duration on an idle machine. A small malicious catalog is stopped after two
 * minutes.
 */
const DEADLINE: LoadDeadline = { baseMs: 120_000, perMibMs: 500, maxMs: 600_000 };

/** Options of the catalog loader. */
export interface LoaderOptions {
  limits?: ContentLimits;
  /** Default "Warn". */
  validation?: CatalogValidation;
  deadline?: LoadDeadline;
  /** Maximum memory for reading a catalog; default 768. */
  heapMib?: number;
}

/** The catalog cannot be read, and a retry does not help. */
export class InvalidCatalogError extends Error {
  override readonly name = "InvalidCatalogError";
}

/** Heap limit of the worker thread. A catalog that needs more memory fails without ending the process. */
const HEAP_MIB = 768;
/**
 * A small young generation saves memory. An even smaller one would spend 10% of the time in garbage
 * collection.
 */
const YOUNG_MIB = 16;
const ADVICE = "Split large or deeply nested objects, or exclude the file with .indexignore";

/**
 * Converts catalog files to content files in a worker thread, while the server responds to
 * requests. The thread's memory is released afterwards. A catalog that exceeds the time or memory
 * limit fails without affecting other catalogs. Reads one catalog at a time to limit memory.
 * Catalogs that failed after a long time yield to other catalogs.
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
   * Reads the catalog at `root` and writes its artifact files into the folder `staging`. The parent
   * folder of `staging` must belong to this catalog only.
   * @throws Error with file, document, line and reason, or with the file that was being read when
   * the time or memory limit was exceeded.
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
  const at = (): string => truncateExcerpt(current.get()) || "the list of files";
  const worker = new Worker(getWorkerFile(import.meta.dirname, "loadWorker"), {
    workerData: { ...task, at: current.shared } satisfies LoadTask,
    resourceLimits,
    env: buildWorkerEnv(),
  });
  const stop = (): void => void worker.terminate();
  signal.addEventListener("abort", stop, { once: true });
  let timer: NodeJS.Timeout | undefined;
  try {
    const message = await new Promise<LoadEnd>((resolve, reject) => {
      const endAfter = (ms: number): void => {
        clearTimeout(timer);
        timer = setTimeout(() => {
          const text = `reading the catalog timed out after ${Math.round(ms / 1_000)} s at ${at()}. ${ADVICE}`;
          reject(new DOMException(text, "TimeoutError"));
          stop();
        }, ms);
      };
      endAfter(deadline.baseMs);
      worker.on("message", (reply: LoadMessage) => {
        if (reply.kind === "listed") endAfter(Math.min(deadline.maxMs, deadline.baseMs + (reply.bytes / MIB) * deadline.perMibMs));
        else resolve(reply);
      });
      worker.on("error", (err) =>
        reject(
          outOfMemory(err)
            ? new InvalidCatalogError(`reading the catalog needs more than ${heapMib} MiB of memory at ${at()}. ${ADVICE}`)
            : err,
        ),
      );
      worker.once("exit", () => reject(signal.reason ?? new Error(`the thread that reads the catalog ended unexpectedly at ${at()}`)));
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
