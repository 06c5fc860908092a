import { Worker } from "node:worker_threads";
import { workerFile } from "../../async/taskThread.ts";
import type { CatalogContent } from "../store/content.ts";
import { type GraphLines, GraphRefusedError, type GraphRequest } from "./drawGraph.ts";
import type { LineRange, PageQuery } from "./queryContext.ts";
import { type FromQueryThread, failedQuery, type OpenCatalogFiles, type QueryRequest, type ToQueryThread } from "./queryMessage.ts";

/** A query and where its objects are found. */
interface QueryJob {
  readonly request: QueryRequest;
  readonly catalog: (OpenCatalogFiles & { find(query: PageQuery): readonly LineRange[] }) | undefined;
}

/** What a thread may take. Milliseconds. */
interface ThreadLimits {
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
class QueryThread {
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
        { find: (query) => catalog?.find(query) ?? [], failed: failedResponse },
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
      done.resolve(this.#responseOfEnded(late, failed));
    } catch (err) {
      done.reject(err);
    }
  }

  #responseOfEnded(late: boolean, failed: AskOptions["failed"]): Uint8Array {
    if (late) return failed("late");
    if (this.#failure?.code === "ERR_WORKER_OUT_OF_MEMORY") return failed("memory");
    throw new Error("the thread that executes queries ended early", { cause: this.#failure });
  }
}

function failedResponse(reason: FailedQuery): Uint8Array {
  return Buffer.from(failedQuery(reason === "late" ? "context deadline exceeded" : TOO_MUCH_MEMORY));
}

/** How many queries are executed, and how long one waits for that. */
export interface QueueLimits {
  threads: number;
  waiting: number;
  waitMs: number;
  /** How long a thread without a query is kept. */
  idleMs: number;
}

/** How many queries may run and wait, and how long, unless a test has less patience. */
export const QUEUE_LIMITS: QueueLimits = { threads: 2, waiting: 64, waitMs: 10_000, idleMs: 60_000 };

/** Too many queries wait already, or one waited for too long. */
export class QueriesBusyError extends Error {
  override readonly name = "QueriesBusyError";
}

interface Waiting {
  readonly go: (thread: QueryThread) => void;
  readonly giveUp: (reason: Error) => void;
}

/** Threads for queries: started when there is something to execute, ended when there was nothing for a while. A server without queries has none. */
export class QueryThreads {
  readonly #limits: QueueLimits;
  readonly #threadLimits: ThreadLimits;
  readonly #idle = new Map<QueryThread, NodeJS.Timeout>();
  readonly #busy = new Set<QueryThread>();
  readonly #waiting: Waiting[] = [];
  #closed = false;

  constructor(limits: QueueLimits = QUEUE_LIMITS, threadLimits: ThreadLimits = THREAD_LIMITS) {
    this.#limits = limits;
    this.#threadLimits = threadLimits;
  }

  /** How many threads there are. */
  get size(): number {
    return this.#idle.size + this.#busy.size;
  }

  /** @see QueryThread.run @throws QueriesBusyError when there is no room; the signal's reason when the client is gone before its turn. */
  async run(job: QueryJob, signal: AbortSignal): Promise<Uint8Array | undefined> {
    return this.#inTurn(signal, (thread) => thread.run(job, signal));
  }

  /** @param read reads what the graph is made of, when it is its turn. @see QueryThread.graph @throws as `run` does. */
  async graph(request: GraphRequest, read: () => Promise<GraphLines>, signal: AbortSignal): Promise<Uint8Array> {
    return this.#inTurn(signal, async (thread) => thread.graph(request, await read()));
  }

  async #inTurn<T>(signal: AbortSignal, use: (thread: QueryThread) => Promise<T>): Promise<T> {
    const thread = await this.#thread(signal);
    try {
      return await use(thread);
    } finally {
      this.#giveBack(thread);
    }
  }

  /** Ends all threads; queries that wait are given up. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const { giveUp } of this.#waiting.splice(0)) giveUp(closing());
    for (const timer of this.#idle.values()) clearTimeout(timer);
    await Promise.all([...this.#idle.keys(), ...this.#busy].map((thread) => thread.end()));
    this.#idle.clear();
  }

  async #thread(signal: AbortSignal): Promise<QueryThread> {
    if (this.#closed) throw closing();
    for (const [thread, timer] of this.#idle) {
      clearTimeout(timer);
      this.#idle.delete(thread);
      if (thread.alive) return this.#take(thread);
    }
    if (this.#busy.size < this.#limits.threads) return this.#take(new QueryThread(this.#threadLimits));
    if (this.#waiting.length >= this.#limits.waiting) throw new QueriesBusyError("too many queries wait already");
    return this.#wait(signal);
  }

  async #wait(signal: AbortSignal): Promise<QueryThread> {
    signal.throwIfAborted();
    const turn = Promise.withResolvers<QueryThread>();
    const waiting: Waiting = { go: turn.resolve, giveUp: turn.reject };
    const leave = (reason: Error): void => {
      const at = this.#waiting.indexOf(waiting);
      if (at >= 0) this.#waiting.splice(at, 1);
      turn.reject(reason);
    };
    const gone = (): void => leave(signal.reason instanceof Error ? signal.reason : new Error("the client is gone"));
    signal.addEventListener("abort", gone, { once: true });
    const timer = setTimeout(() => leave(new QueriesBusyError("the query waited for too long")), this.#limits.waitMs);
    this.#waiting.push(waiting);
    try {
      return await turn.promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", gone);
    }
  }

  #take(thread: QueryThread): QueryThread {
    this.#busy.add(thread);
    return thread;
  }

  #giveBack(thread: QueryThread): void {
    this.#busy.delete(thread);
    if (this.#closed) return;
    const next = this.#waiting.shift();
    if (next) next.go(this.#take(thread.alive ? thread : new QueryThread(this.#threadLimits)));
    else if (thread.alive) this.#idle.set(thread, setTimeout(() => this.#endIdle(thread), this.#limits.idleMs).unref());
  }

  #endIdle(thread: QueryThread): void {
    this.#idle.delete(thread);
    void thread.end();
  }
}

function closing(): Error {
  return new QueriesBusyError("the server is stopping");
}

/** Numbers for contents, by which threads know those whose schema they have. */
export class ContentKeys {
  readonly #keys = new WeakMap<CatalogContent, number>();
  #last = 0;

  of(content: CatalogContent): number {
    const known = this.#keys.get(content);
    if (known !== undefined) return known;
    const key = ++this.#last;
    this.#keys.set(content, key);
    return key;
  }
}

/** What a thread needs to know to query a content, which has to be held meanwhile. @throws Error when the content has no artifact "graphql". */
export function queriedCatalog(content: CatalogContent, keys: ContentKeys): NonNullable<QueryJob["catalog"]> {
  const artifact = content.artifacts.get("graphql");
  if (!artifact) throw new Error("the catalog was stored without what its GraphQL schema is made of");
  const { index, file } = content.catalog;
  /** Aliases ask for the same lines again and again. */
  const found = new Map<string, Uint32Array>();
  const linesOf = ({ schema, name, package: packageName }: PageQuery): Uint32Array => {
    const key = JSON.stringify([schema, name, packageName]);
    const lines = found.get(key) ?? index.find({ schema, name, package: packageName });
    found.set(key, lines);
    return lines;
  };
  return {
    key: keys.of(content),
    metas: file.handle.fd,
    schemas: { fd: artifact.file.handle.fd, bytes: artifact.index.bytes },
    find: (query) =>
      [...linesOf(query).subarray(query.offset, query.offset + query.limit)].flatMap((line): LineRange[] => index.slices([line])),
  };
}
