import { Worker } from "node:worker_threads";
import { workerFile } from "../../async/taskThread.ts";
import type { SegmentMessage, SegmentTask } from "./segmentMessage.ts";

/** The thread holds two buffers and one segment at a time. */
const HEAP = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 128 };
/** How long the thread waits for more: a content has several parts, and a thread takes longer to start than most of them to compress. */
const IDLE_MS = 1_000;

/**
 * A thread that compresses parts, one at a time; it is there only while there is something to compress. It is asked to stop and to end, and never
 * terminated: a thread that is terminated while it sets up a zlib stream aborts the whole process (Node 24.21, `init_done_ && "close before init"`).
 */
export class SegmentThread {
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;

  /**
   * Compresses a part; when `signal` aborts, the thread stops before the next line. Not while another task is under way.
   * @throws Error when `signal` aborts or the thread ends.
   */
  async run(task: Omit<SegmentTask, "stop">, signal: AbortSignal): Promise<SegmentMessage> {
    signal.throwIfAborted();
    clearTimeout(this.#idle);
    const worker = (this.#worker ??= this.#newWorker());
    worker.ref();
    const answer = Promise.withResolvers<SegmentMessage>();
    const ended = (): void => answer.reject(new Error("the thread that compresses content ended early"));
    const flag = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const stop = (): void => void Atomics.store(flag, 0, 1);
    signal.addEventListener("abort", stop, { once: true });
    worker.on("message", answer.resolve).on("error", answer.reject).on("exit", ended);
    try {
      worker.postMessage({ ...task, stop: flag }, []);
      const message = await answer.promise;
      signal.throwIfAborted();
      return message;
    } finally {
      signal.removeEventListener("abort", stop);
      worker.off("message", answer.resolve).off("error", answer.reject).off("exit", ended);
      worker.unref();
      this.#idle = setTimeout(() => void this.close(), IDLE_MS).unref();
    }
  }

  /** Ends the thread. No task may be under way. */
  async close(): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = undefined;
    if (worker === undefined) return;
    const exited = new Promise((resolve) => worker.once("exit", resolve));
    worker.postMessage(undefined, []);
    worker.ref();
    await exited;
  }

  #newWorker(): Worker {
    const worker = new Worker(workerFile(import.meta.dirname, "segmentWorker"), { resourceLimits: HEAP, env: {} });
    worker.on("error", () => undefined); // who waits for an answer hears of it; while nobody does it is no reason to end the program
    worker.once("exit", () => {
      if (this.#worker === worker) this.#worker = undefined; // it would never answer
    });
    return worker;
  }
}
