import { existsSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
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
    this.#worker = new Worker(workerFile(), { resourceLimits: HEAP, env: {} });
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
    let late = false;
    const end = (): void => {
      late = true;
      void this.end();
    };
    let timer = setTimeout(end, this.#limits.start);
    const done = Promise.withResolvers<Uint8Array | undefined>();
    const listen = (message: FromQueryThread): void => {
      if (message.kind === "done") done.resolve(message.answer);
      else if (message.kind === "failed") done.reject(new Error(message.message));
      else if (message.kind === "find") this.#say({ kind: "found", find: message.find, lines: catalog?.find(message.query) ?? [] });
      else {
        clearTimeout(timer);
        timer = setTimeout(end, this.#limits.run);
      }
    };
    this.#worker.on("message", listen);
    void this.#ended.then(() => this.#settleEnded(late, done));
    try {
      const files = catalog && { key: catalog.key, metas: catalog.metas, schemas: catalog.schemas };
      this.#say({ kind: "run", request, catalog: files, stop });
      return await done.promise;
    } finally {
      clearTimeout(timer);
      this.#worker.off("message", listen);
      signal.removeEventListener("abort", cancel);
    }
  }

  async end(): Promise<void> {
    this.#alive = false;
    await this.#worker.terminate();
  }

  #say(message: ToQueryThread): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    this.#worker.postMessage(message);
  }

  #settleEnded(late: boolean, { resolve, reject }: PromiseWithResolvers<Uint8Array | undefined>): void {
    if (late) resolve(Buffer.from(failedQuery("context deadline exceeded")));
    else if (this.#failure?.code === "ERR_WORKER_OUT_OF_MEMORY") resolve(Buffer.from(failedQuery(TOO_MUCH_MEMORY)));
    else reject(new Error("the thread that executes queries ended early", { cause: this.#failure }));
  }
}

/** Beside a bundled program stands the bundled worker; in a checkout the source runs as it is. */
function workerFile(): string {
  const bundled = join(import.meta.dirname, "queryWorker.js");
  return existsSync(bundled) ? bundled : join(import.meta.dirname, "queryWorker.ts");
}
