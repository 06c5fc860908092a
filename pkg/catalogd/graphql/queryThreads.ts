import type { GraphLines, GraphRequest } from "./drawGraph.ts";
import { type QueryJob, QueryThread, THREAD_LIMITS, type ThreadLimits } from "./queryThread.ts";

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
