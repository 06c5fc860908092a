import { Worker } from "node:worker_threads";
import { workerFile } from "../../async/workerFile.ts";
import type { SegmentMessage, SegmentTask } from "./segmentMessage.ts";

/** The thread holds two buffers and one segment at a time. */
const HEAP = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 128 };
/** How long the thread waits for more: a content has several parts, and a thread takes longer to start than most of them to compress. */
const IDLE_MS = 1_000;

/** A thread that compresses parts, one at a time; it is there only while there is something to compress. */
export class SegmentThread {
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;

  /** Not while another task is under way. @throws Error when `signal` aborts or the thread ends. */
  async run(task: SegmentTask, signal: AbortSignal): Promise<SegmentMessage> {
    signal.throwIfAborted();
    clearTimeout(this.#idle);
    const worker = (this.#worker ??= this.#newWorker());
    worker.ref();
    const answer = Promise.withResolvers<SegmentMessage>();
    const ended = (): void => answer.reject(signal.reason ?? new Error("the thread that compresses content ended early"));
    const stop = (): void => void worker.terminate();
    signal.addEventListener("abort", stop, { once: true });
    worker.on("message", answer.resolve).on("error", answer.reject).on("exit", ended);
    try {
      worker.postMessage(task, []);
      const message = await answer.promise;
      signal.throwIfAborted(); // the thread is ending although it has answered
      worker.unref();
      this.#idle = setTimeout(() => void this.close(), IDLE_MS).unref();
      return message;
    } catch (err) {
      await this.close();
      throw err;
    } finally {
      signal.removeEventListener("abort", stop);
      worker.off("message", answer.resolve).off("error", answer.reject).off("exit", ended);
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
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
