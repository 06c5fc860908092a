import { Worker } from "node:worker_threads";
import { buildWorkerEnv, getWorkerFile } from "../../async/taskThread.ts";
import type { CatalogContent } from "../store/content.ts";
import type { DescribeRequest } from "./describePackage.ts";
import { type GraphLines, GraphRefusedError, type GraphRequest } from "./drawGraph.ts";
import type { LineRange, PageQuery } from "./queryContext.ts";
import { type FromQueryThread, formatFailedQuery, type OpenCatalogFiles, type QueryRequest, type ToQueryThread } from "./queryMessage.ts";

/** A query and the source of its objects. */
interface QueryJob {
  readonly request: QueryRequest;
  readonly catalog: (OpenCatalogFiles & { find(query: PageQuery): readonly LineRange[] }) | undefined;
}

/** Time limits of a thread, in milliseconds. */
interface ThreadLimits {
  /** Maximum time to start the thread. */
  start: number;
  /** Maximum time for one query. Longer than the limit that the query itself checks, so that the query usually ends first. */
  run: number;
}

/** Default time limits of a thread, in milliseconds. */
export const THREAD_LIMITS: ThreadLimits = { start: 30_000, run: 6_000 };
/** Heap limits; a query that needs more gets an error. */
const HEAP = { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 256 };
const TOO_MUCH_MEMORY = "query needs too much memory. Request fewer fields, or fewer objects with the argument limit";

/** Why a thread was terminated during a query. */
type FailedQuery = "late" | "memory";

interface QueryOptions {
  readonly find: (query: PageQuery) => readonly LineRange[];
  readonly failed: (reason: FailedQuery) => Uint8Array;
  readonly transfer?: readonly ArrayBuffer[];
}

const GRAPH_FAULTS: Readonly<Record<FailedQuery, string>> = {
  late: "drawing the graph takes too long. Request a single channel with the parameter channel",
  memory: "drawing the graph needs too much memory. Request a single channel with the parameter channel",
};

const DESCRIBE_FAULTS: Readonly<Record<FailedQuery, string>> = {
  late: "describing the package takes too long",
  memory: "describing the package needs too much memory",
};

/**
 * A thread that executes one query at a time. If a query exceeds its time or memory limit, the
 * thread is terminated, so that requests and catalogs cannot block the server.
 */
class QueryThread {
  readonly #worker: Worker;
  readonly #limits: ThreadLimits;
  #alive = true;
  #hasExited = false;
  /** Settles the current request to the thread when the thread exits. Undefined between requests, so that no response stays in memory. */
  #settleCurrent: (() => void) | undefined;
  #failure: (Error & { code?: string }) | undefined;

  constructor(limits: ThreadLimits = THREAD_LIMITS) {
    this.#limits = limits;
    this.#worker = new Worker(getWorkerFile(import.meta.dirname, "queryWorker"), { resourceLimits: HEAP, env: buildWorkerEnv() });
    this.#worker.unref();
    this.#worker.on("error", (err: Error) => {
      this.#failure = err;
    });
    this.#worker.once("exit", () => {
      this.#alive = false;
      this.#hasExited = true;
      this.#settleCurrent?.();
    });
  }

  /**
   * Whether the thread accepts another query. False as soon as its termination starts, although the
   * current query may still get its response.
   */
  get alive(): boolean {
    return this.#alive;
  }

  /**
   * Returns the response to a query as JSON; undefined if the only error is that the catalog does
   * not exist. The thread stops using the catalog before the promise settles.
   * @throws Error if the catalog cannot be read or the thread cannot be started.
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
   * Returns the text of an upgrade graph. Transfers the buffers of `lines` to the thread.
   * @throws GraphRefusedError if the request cannot be satisfied or exceeds the time or memory
   * limit; Error if the lines cannot be read or the thread cannot be started.
   */
  async graph(request: GraphRequest, lines: GraphLines): Promise<Uint8Array> {
    const failed = (reason: FailedQuery): never => {
      throw new GraphRefusedError("GraphTooLarge", GRAPH_FAULTS[reason]);
    };
    const transfer = [lines.metas.buffer, lines.properties.buffer];
    const response = await this.#ask({ kind: "graph", request, lines }, { find: () => [], failed, transfer });
    if (!response) throw new Error("the query thread returned no graph");
    return response;
  }

  /**
   * Returns the details of a package as JSON. The thread stops using the file before the promise settles.
   * @throws GraphRefusedError if the request cannot be satisfied or exceeds the time or memory limit; Error if the lines cannot be read
   */
  async describe(request: DescribeRequest, metas: number, lines: readonly LineRange[]): Promise<Uint8Array> {
    const failed = (reason: FailedQuery): never => {
      throw new GraphRefusedError("PackageTooLarge", DESCRIBE_FAULTS[reason]);
    };
    const response = await this.#ask({ kind: "describe", request, metas, lines }, { find: () => [], failed });
    if (!response) throw new Error("the query thread returned no package");
    return response;
  }

  /**
   * Sends one message to the thread and waits for the response. Call only after the previous call has settled.
   * @param options.failed returns the response to use if the thread is terminated.
   */
  async #ask(message: ToQueryThread, { find, failed, transfer = [] }: QueryOptions): Promise<Uint8Array | undefined> {
    let late = false;
    const end = (): void => {
      late = true;
      void this.end();
    };
    let timer = setTimeout(end, this.#limits.start);
    const done = Promise.withResolvers<Uint8Array | undefined>();
    const listen = (reply: FromQueryThread): void => {
      if (reply.kind === "done") done.resolve(reply.answer);
      else if (reply.kind === "failed") done.reject(new Error(reply.message));
      else if (reply.kind === "refused") done.reject(new GraphRefusedError(reply.code, reply.message));
      else if (reply.kind === "find") this.#send({ kind: "found", find: reply.find, lines: find(reply.query) });
      else {
        clearTimeout(timer);
        timer = setTimeout(end, this.#limits.run);
      }
    };
    this.#worker.on("message", listen);
    this.#settleCurrent = () => this.#settleEnded(late, failed, done);
    if (this.#hasExited) this.#settleCurrent();
    try {
      this.#send(message, transfer);
      return await done.promise;
    } finally {
      clearTimeout(timer);
      this.#settleCurrent = undefined;
      this.#worker.off("message", listen);
    }
  }

  async end(): Promise<void> {
    this.#alive = false;
    await this.#worker.terminate();
  }

  #send(message: ToQueryThread, transfer: readonly ArrayBuffer[] = []): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    this.#worker.postMessage(message, [...transfer]);
  }

  #settleEnded(late: boolean, failed: QueryOptions["failed"], done: PromiseWithResolvers<Uint8Array | undefined>): void {
    try {
      done.resolve(this.#responseOfEnded(late, failed));
    } catch (err) {
      done.reject(err);
    }
  }

  #responseOfEnded(late: boolean, failed: QueryOptions["failed"]): Uint8Array {
    if (late) return failed("late");
    if (this.#failure?.code === "ERR_WORKER_OUT_OF_MEMORY") return failed("memory");
    throw new Error("the query thread ended unexpectedly", { cause: this.#failure });
  }
}

function failedResponse(reason: FailedQuery): Uint8Array {
  return Buffer.from(formatFailedQuery(reason === "late" ? "context deadline exceeded" : TOO_MUCH_MEMORY));
}

/** Limits on running and waiting queries. */
export interface QueueLimits {
  threads: number;
  waiting: number;
  waitMs: number;
  /** Time after which an idle thread ends, in milliseconds. */
  idleMs: number;
}

/** Default limits on running queries, waiting queries and the wait. */
export const QUEUE_LIMITS: QueueLimits = { threads: 2, waiting: 64, waitMs: 10_000, idleMs: 60_000 };

/** The query was rejected because too many queries are waiting, or because it waited too long. */
export class QueriesBusyError extends Error {
  override readonly name = "QueriesBusyError";
}

interface QueuedQuery {
  readonly go: (thread: QueryThread) => void;
  readonly giveUp: (reason: Error) => void;
}

/** A pool of query threads, which start on demand and end when idle. */
export class QueryThreads {
  readonly #limits: QueueLimits;
  readonly #threadLimits: ThreadLimits;
  readonly #idle = new Map<QueryThread, NodeJS.Timeout>();
  readonly #busy = new Set<QueryThread>();
  readonly #waiting: QueuedQuery[] = [];
  #closed = false;

  constructor(limits: QueueLimits = QUEUE_LIMITS, threadLimits: ThreadLimits = THREAD_LIMITS) {
    this.#limits = limits;
    this.#threadLimits = threadLimits;
  }

  /** The number of threads. */
  get size(): number {
    return this.#idle.size + this.#busy.size;
  }

  /**
   * @see QueryThread.run @throws QueriesBusyError if the queue is full; the signal's reason if the
   * client disconnects before the query starts.
   */
  async run(job: QueryJob, signal: AbortSignal): Promise<Uint8Array | undefined> {
    return this.#inTurn(signal, (thread) => thread.run(job, signal));
  }

  /**
   * @param read reads the lines for the graph; called when a thread is free. @see QueryThread.graph
   * @throws the errors of `run`.
   */
  async graph(request: GraphRequest, read: () => Promise<GraphLines>, signal: AbortSignal): Promise<Uint8Array> {
    return this.#inTurn(signal, async (thread) => thread.graph(request, await read()));
  }

  /** @see QueryThread.describe @throws the errors of `run`. */
  async describe(request: DescribeRequest, metas: number, lines: readonly LineRange[], signal: AbortSignal): Promise<Uint8Array> {
    return this.#inTurn(signal, (thread) => thread.describe(request, metas, lines));
  }

  async #inTurn<T>(signal: AbortSignal, use: (thread: QueryThread) => Promise<T>): Promise<T> {
    const thread = await this.#thread(signal);
    try {
      return await use(thread);
    } finally {
      this.#giveBack(thread);
    }
  }

  /** Ends all threads and rejects waiting queries. */
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
    if (this.#waiting.length >= this.#limits.waiting) throw new QueriesBusyError("too many queries are waiting. Try again later");
    return this.#wait(signal);
  }

  async #wait(signal: AbortSignal): Promise<QueryThread> {
    signal.throwIfAborted();
    const turn = Promise.withResolvers<QueryThread>();
    const waiting: QueuedQuery = { go: turn.resolve, giveUp: turn.reject };
    const leave = (reason: Error): void => {
      const at = this.#waiting.indexOf(waiting);
      if (at >= 0) this.#waiting.splice(at, 1);
      turn.reject(reason);
    };
    const gone = (): void => leave(signal.reason instanceof Error ? signal.reason : new Error("the client has disconnected"));
    signal.addEventListener("abort", gone, { once: true });
    const timer = setTimeout(
      () => leave(new QueriesBusyError("timed out waiting for other queries to finish. Try again later")),
      this.#limits.waitMs,
    );
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
  return new QueriesBusyError("the server is shutting down");
}

/** Assigns a number to each content, by which a thread finds the schema that it has cached for the content. */
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

/**
 * Returns the data that a thread needs to query the content. The caller must hold the content until
 * the query has ended. @throws Error if the content has no artifact "graphql".
 */
export function toQueriedCatalog(content: CatalogContent, keys: ContentKeys): NonNullable<QueryJob["catalog"]> {
  const artifact = content.artifacts.get("graphql");
  if (!artifact) throw new Error("the stored content of the catalog has no GraphQL schema");
  const { index, file } = content.catalog;
  /** Cached, because aliases request the same lines repeatedly. */
  const found = new Map<string, Uint32Array>();
  const findLines = ({ schema, name, package: packageName }: PageQuery): Uint32Array => {
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
      [...findLines(query).subarray(query.offset, query.offset + query.limit)].flatMap((line): LineRange[] => index.slices([line])),
  };
}
