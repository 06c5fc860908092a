import { Worker } from "node:worker_threads";
import { workerFile } from "../../async/taskThread.ts";
import { type GraphLines, GraphRefusedError, type GraphRequest } from "./drawGraph.ts";
import type { LineRange, PageQuery } from "./queryContext.ts";
import type { CatalogFiles, FromQueryThread, ToQueryThread } from "./queryMessage.ts";
import { failedQuery, type QueryRequest } from "./queryRequest.ts";

/** A query and where its objects are found. */
export interface QueryJob {
  readonly request: QueryRequest;
  readonly catalog: (CatalogFiles & { find(query: PageQuery): readonly LineRange[] }) | undefined;
}

/** What a thread may take. Milliseconds. */
export interface ThreadLimits {
  /** Until a thread has read its program. */
  start: number;
  /** For one query: more than the query gives itself, so that it usually ends by itself. */
  run: number;
}

/** How long a thread may take, in milliseconds, unless a test is in a hurry. */
export const THREAD_LIMITS: ThreadLimits = { start: 30_000, run: 6_000 };
/** Bounds of the heap; the answer to a query that needs more is an error. */
const HEAP = { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 256 };
const TOO_MUCH_MEMORY = "query needs too much memory; ask for fewer objects (limit) or fields";

/** Why a thread was ended during a query. */
type FailedQuery = "late" | "memory";

interface AskOptions {
  readonly find: (query: PageQuery) => readonly LineRange[];
  readonly failed: (reason: FailedQuery) => Uint8Array;
  readonly transfer?: readonly ArrayBuffer[];
}

const GRAPH_FAULTS: Readonly<Record<FailedQuery, string>> = {
  late: "drawing the graph takes too long; ask for one channel",
  memory: "drawing the graph needs too much memory; ask for one channel",
};

/**
 * A thread that executes one query at a time. One that takes too long or too much is ended with its thread: what a client asks for, and what a catalog
 * holds, cannot hold up the server.
 */
export class QueryThread {
  readonly #worker: Worker;
  readonly #limits: ThreadLimits;
  readonly #ended: Promise<void>;
  #alive = true;
  #failure: (Error & { code?: string }) | undefined;

  constructor(limits: ThreadLimits = THREAD_LIMITS) {
    this.#limits = limits;
    this.#worker = new Worker(workerFile(import.meta.dirname, "queryWorker"), { resourceLimits: HEAP, env: {} });
    this.#worker.unref();
    this.#worker.on("error", (err: Error) => {
      this.#failure = err;
    });
    this.#ended = new Promise((resolve) => {
      this.#worker.once("exit", () => {
        this.#alive = false;
        resolve();
      });
    });
  }

  /** Whether another query can be given to it: not once its end has begun, though it may still answer what it was given. */
  get alive(): boolean {
    return this.#alive;
  }

  /**
   * The answer to a query in JSON; undefined when all that is wrong with it is that there is no catalog. When it settles, nothing of the catalog is
   * in use any more.
   * @throws Error when the catalog cannot be read, or the thread cannot be started.
   */
  async run({ request, catalog }: QueryJob, signal: AbortSignal): Promise<Uint8Array | undefined> {
    const stop = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const cancel = (): void => void Atomics.store(stop, 0, 1);
    signal.addEventListener("abort", cancel, { once: true });
    if (signal.aborted) cancel();
    try {
      const files = catalog && { key: catalog.key, metas: catalog.metas, schemas: catalog.schemas };
      return await this.#ask(
        { kind: "run", request, catalog: files, stop },
        { find: (query) => catalog?.find(query) ?? [], failed: failedAnswer },
      );
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  }

  /**
   * The text of an update graph. `lines` are transferred.
   * @throws GraphRefusedError when it cannot be answered as it was asked for, and when it takes too long or too much memory; Error when the lines
   * cannot be read, or the thread cannot be started.
   */
  async graph(request: GraphRequest, lines: GraphLines): Promise<Uint8Array> {
    const failed = (reason: FailedQuery): never => {
      throw new GraphRefusedError("GraphTooLarge", GRAPH_FAULTS[reason]);
    };
    const transfer = [lines.metas.buffer, lines.properties.buffer];
    const answer = await this.#ask({ kind: "graph", request, lines }, { find: () => [], failed, transfer });
    if (!answer) throw new Error("a graph was drawn without an answer");
    return answer;
  }

  /** Says one thing to the thread and waits for its answer. @param options.failed gives the answer of a thread that was ended. */
  async #ask(message: ToQueryThread, { find, failed, transfer = [] }: AskOptions): Promise<Uint8Array | undefined> {
    let late = false;
    const end = (): void => {
      late = true;
      void this.end();
    };
    let timer = setTimeout(end, this.#limits.start);
    const done = Promise.withResolvers<Uint8Array | undefined>();
    const listen = (said: FromQueryThread): void => {
      if (said.kind === "done") done.resolve(said.answer);
      else if (said.kind === "failed") done.reject(new Error(said.message));
      else if (said.kind === "refused") done.reject(new GraphRefusedError(said.code, said.message));
      else if (said.kind === "find") this.#say({ kind: "found", find: said.find, lines: find(said.query) });
      else {
        clearTimeout(timer);
        timer = setTimeout(end, this.#limits.run);
      }
    };
    this.#worker.on("message", listen);
    void this.#ended.then(() => this.#settleEnded(late, failed, done));
    try {
      this.#say(message, transfer);
      return await done.promise;
    } finally {
      clearTimeout(timer);
      this.#worker.off("message", listen);
    }
  }

  async end(): Promise<void> {
    this.#alive = false;
    await this.#worker.terminate();
  }

  #say(message: ToQueryThread, transfer: readonly ArrayBuffer[] = []): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    this.#worker.postMessage(message, [...transfer]);
  }

  #settleEnded(late: boolean, failed: AskOptions["failed"], done: PromiseWithResolvers<Uint8Array | undefined>): void {
    try {
      done.resolve(this.#answerOfEnded(late, failed));
    } catch (err) {
      done.reject(err);
    }
  }

  #answerOfEnded(late: boolean, failed: AskOptions["failed"]): Uint8Array {
    if (late) return failed("late");
    if (this.#failure?.code === "ERR_WORKER_OUT_OF_MEMORY") return failed("memory");
    throw new Error("the thread that executes queries ended early", { cause: this.#failure });
  }
}

function failedAnswer(reason: FailedQuery): Uint8Array {
  return Buffer.from(failedQuery(reason === "late" ? "context deadline exceeded" : TOO_MUCH_MEMORY));
}
