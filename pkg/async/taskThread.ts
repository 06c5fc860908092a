import { existsSync } from "node:fs";
import { join } from "node:path";
import { parentPort, Worker } from "node:worker_threads";
import type { Clock } from "./clock.ts";

/**
 * Returns the path of a worker thread's program: in a build, the bundled worker in the same folder;
 * in a checkout, its source file.
 * @param folder of the module that starts the thread. @param name of the worker's file in it,
 * without extension.
 */
export function getWorkerFile(folder: string, name: string): string {
  const bundled = join(folder, `${name}.js`);
  return existsSync(bundled) ? bundled : join(folder, `${name}.ts`);
}

/**
 * Returns the environment variables of a worker thread: only the compile cache of this process, if it has one. It halves the start time of a thread.
 * Threads process untrusted content, so they get no other variable.
 */
export function buildWorkerEnv(): NodeJS.ProcessEnv {
  const { NODE_COMPILE_CACHE } = process.env;
  return NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };
}

/** Resource limits and idle time of a thread. */
export interface TaskThreadLimits {
  /** Heap of the thread in MiB. */
  readonly heapMib: number;
  /** Maximum time for one request, in milliseconds, including the start of the thread. */
  readonly deadlineMs: number;
  /** Idle time after which the thread ends, in milliseconds, because an idle thread takes 20 MB of memory. */
  readonly idleMs: number;
}

/**
 * A request exceeded the limits of the thread. The thread was terminated, and the next request
 * starts another one.
 */
export class ThreadLimitExceeded extends Error {
  readonly limit: "memory" | "time";

  /** @param text the limit, for example "192 MiB of memory". */
  constructor(limit: "memory" | "time", text: string, options?: ErrorOptions) {
    super(`exceeded the limit of ${text}`, options);
    this.name = "ThreadLimitExceeded";
    this.limit = limit;
  }
}

/** Sends a request with transferred buffers, and returns the response. @throws ThreadLimitExceeded */
export type SendRequest<Request, Response> = (request: Request, transfer?: ArrayBuffer[]) => Promise<Response>;

/** A small young generation saves memory. An even smaller one would cost too much garbage collection time. */
const YOUNG_MIB = 16;

/**
 * A worker thread that processes untrusted content with limited memory and time, while the main
 * thread stays responsive. Ends when idle. Serves one caller at a time, in order of arrival.
 */
export class TaskThread<Request, Response> {
  readonly #file: string;
  readonly #limits: TaskThreadLimits;
  readonly #clock: Clock;
  #last: Promise<unknown> = Promise.resolve();
  #worker: Worker | undefined;
  #isAsked = false;
  /** Why the thread ended between two requests of the current caller. */
  #lost: Error | undefined;
  #cancelEnd: () => void = () => undefined;
  #keepers = 0;

  /**
   * @param folder of the module that starts the thread. @param name of the worker's file in it,
   * without extension.
   */
  constructor(folder: string, name: string, limits: TaskThreadLimits, clock: Clock) {
    this.#file = getWorkerFile(folder, name);
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Whether the thread is running. */
  get isRunning(): boolean {
    return this.#worker !== undefined;
  }

  /**
   * Runs `work` with exclusive use of the thread until `work` settles, so that other callers cannot
   * change the thread's state between two requests.
   * @throws the error of `work`, including ThreadLimitExceeded.
   */
  run<T>(work: (ask: SendRequest<Request, Response>) => Promise<T>): Promise<T> {
    const turn = this.#last.then(async () => {
      this.#cancelEnd();
      this.#lost = undefined;
      try {
        return await work((request, transfer) => this.#ask(request, transfer));
      } finally {
        this.#endWhenIdle();
      }
    });
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  /** Keeps an idle thread with its state until the returned function is called. */
  keep(): () => void {
    this.#keepers++;
    return () => {
      this.#keepers--;
      this.#endWhenIdle();
    };
  }

  /** Ends the thread; a request in progress fails. The next request starts another one. */
  async end(): Promise<void> {
    this.#cancelEnd();
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  #endWhenIdle(): void {
    this.#cancelEnd();
    if (this.#keepers === 0) this.#cancelEnd = this.#clock.after(this.#limits.idleMs, () => void this.end());
  }

  async #ask(request: Request, transfer: ArrayBuffer[] = []): Promise<Response> {
    const lost = this.#lost;
    this.#lost = undefined;
    if (lost) throw this.#toError(lost);
    const worker = this.#worker ?? this.#start();
    const { deadlineMs } = this.#limits;
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const failed = (err: Error): void => reject(this.#toError(err));
    const ended = (): void => reject(new Error("the worker thread ended unexpectedly"));
    worker.once("message", resolve);
    worker.once("error", failed);
    worker.once("exit", ended);
    const cancel = this.#clock.after(deadlineMs, () => reject(new ThreadLimitExceeded("time", `${deadlineMs / 1_000} s`)));
    this.#isAsked = true;
    try {
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      worker.postMessage(request, transfer);
      return await promise;
    } catch (err) {
      if (this.#worker === worker) await this.end();
      throw err;
    } finally {
      this.#isAsked = false;
      cancel();
      worker.off("message", resolve);
      worker.off("error", failed);
      worker.off("exit", ended);
    }
  }

  #toError(err: Error): Error {
    const isFull = (err as NodeJS.ErrnoException).code === "ERR_WORKER_OUT_OF_MEMORY";
    return isFull ? new ThreadLimitExceeded("memory", `${this.#limits.heapMib} MiB of memory`, { cause: err }) : err;
  }

  #start(): Worker {
    const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_MIB, maxOldGenerationSizeMb: this.#limits.heapMib };
    const worker = new Worker(this.#file, { resourceLimits, env: buildWorkerEnv() });
    worker.unref();
    const forget = (): void => {
      if (this.#worker === worker) this.#worker = undefined;
    };
    worker.once("exit", forget);
    // An error outside a request ends the thread, for example because garbage collection found no memory after the response.
    worker.on("error", (err: Error) => {
      if (!this.#isAsked && this.#worker === worker) this.#lost = err;
      forget();
    });
    this.#worker = worker;
    return worker;
  }
}

/**
 * Returns the buffers that can be transferred with a message because each belongs to only one of
 * `views`. Small buffers share a pool and are copied instead.
 */
export function listMovable(views: Iterable<Uint8Array>): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  for (const { buffer, byteLength } of views)
    if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength && byteLength > 0) buffers.add(buffer);
  return [...buffers];
}

/** A response and the buffers to transfer with it. */
export interface TaskResponse<Response> {
  readonly response: Response;
  readonly transfer?: ArrayBuffer[];
}

/** Responds to each request that a `TaskThread` sends to this thread. An error that `serve` throws ends the thread. */
export function serveTasks(serve: (request: unknown) => TaskResponse<unknown> | Promise<TaskResponse<unknown>>): void {
  const respond = async (request: unknown): Promise<void> => {
    const { response, transfer = [] } = await serve(request);
    parentPort?.postMessage(response, transfer);
  };
  parentPort?.on("message", (request: unknown) => void respond(request));
}
