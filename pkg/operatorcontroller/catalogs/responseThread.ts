import type { JsonObject } from "../../api/k8s.ts";
import type { Clock } from "../../async/clock.ts";
import { listMovable, TaskThread, type TaskThreadLimits, ThreadLimitExceeded } from "../../async/taskThread.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import type { Meta } from "../../fbc/types.ts";
import { keepNumberTokens } from "../../golang/json.ts";
import { type ReadRequest, type ReadResponse, type ReadTask, ResponseReader } from "./responseReader.ts";

/** The deadline applies to one piece. One object can have 4 MiB and 200,000 values. */
const LIMITS: TaskThreadLimits = { heapMib: 128, deadlineMs: 60_000, idleMs: 3_000 };
/** The main thread reads a response of at most this many bytes itself, because starting a thread takes longer. */
const MAIN_THREAD_BYTES = 1024 * 1024;
/** Size in bytes of one message to the thread. */
const PIECE_BYTES = 256 * 1024;

/** Reads catalog responses. A worker thread reads large responses, several in parallel, and returns only the members that resolution reads. */
export class ResponseThread {
  readonly #thread: TaskThread<ReadRequest, ReadResponse>;
  #lastId = 0;

  constructor(clock: Clock, limits: TaskThreadLimits = LIMITS) {
    this.#thread = new TaskThread(import.meta.dirname, "responseWorker", limits, clock);
  }

  /** Whether the thread is running. */
  get isRunning(): boolean {
    return this.#thread.isRunning;
  }

  /**
   * Yields the objects of a response in its order.
   * @throws the errors of `ResponseReader` and of `chunks`, and an Error if the content needs more memory or time than the thread has.
   */
  async *read(task: ReadTask, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Meta> {
    const pieces = splitPieces(chunks)[Symbol.asyncIterator]();
    try {
      const first: Uint8Array[] = [];
      for (let bytes = 0; bytes <= MAIN_THREAD_BYTES; ) {
        const { done, value } = await pieces.next();
        if (done) {
          yield* readInMainThread(task, first);
          return;
        }
        first.push(value);
        bytes += value.byteLength;
      }
      yield* this.#readInThread(task, first, { [Symbol.asyncIterator]: () => pieces });
    } finally {
      await pieces.return(undefined);
    }
  }

  /** Ends the thread. Reading the current response fails. */
  end(): Promise<void> {
    return this.#thread.end();
  }

  async *#readInThread(task: ReadTask, first: readonly Uint8Array[], rest: AsyncIterable<Uint8Array>): AsyncGenerator<Meta> {
    const id = ++this.#lastId;
    const release = this.#thread.keep();
    let isOpen = false;
    try {
      await this.#ask({ kind: "open", id, task });
      isOpen = true;
      for (const bytes of first) yield* await this.#ask({ kind: "push", id, bytes });
      for await (const bytes of rest) yield* await this.#ask({ kind: "push", id, bytes });
      isOpen = false;
      yield* await this.#ask({ kind: "end", id });
    } finally {
      if (isOpen && this.#thread.isRunning) await this.#thread.run((ask) => ask({ kind: "drop", id }));
      release();
    }
  }

  async #ask(request: ReadRequest): Promise<Meta[]> {
    const transfer = request.kind === "push" ? listMovable([request.bytes]) : [];
    const response = await this.#thread
      .run((ask) => ask(request, transfer))
      .catch((err: unknown) => {
        throw err instanceof ThreadLimitExceeded
          ? new Error(`cannot read the catalog's response: ${getErrorMessage(err)}`, { cause: err })
          : err;
      });
    if (response.kind === "failed") throw new Error(response.message);
    if (response.kind === "unknown") throw new Error("the catalog reader thread ended unexpectedly");
    return response.metas.map(({ blob, ...meta }) => ({ ...meta, blob: keepNumberTokens(JSON.parse(blob), blob) as JsonObject }));
  }
}

function* readInMainThread(task: ReadTask, pieces: readonly Uint8Array[]): Generator<Meta> {
  const reader = new ResponseReader(task);
  for (const piece of pieces) yield* reader.push(piece);
  yield* reader.end();
}

/** Yields the bytes of `chunks` in pieces of about `PIECE_BYTES`. */
async function* splitPieces(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let [waiting, bytes]: [Uint8Array[], number] = [[], 0];
  for await (const chunk of chunks) {
    waiting.push(chunk);
    bytes += chunk.byteLength;
    if (bytes < PIECE_BYTES) continue;
    yield Buffer.concat(waiting);
    [waiting, bytes] = [[], 0];
  }
  if (bytes > 0) yield Buffer.concat(waiting);
}
