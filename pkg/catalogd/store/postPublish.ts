import { setTimeout as sleep } from "node:timers/promises";
import { DamagedError } from "./storedFile.ts";

/** Callbacks for failures. */
export interface PostPublishEvents {
  /** Called for a failure that will be retried. */
  failed: (err: unknown) => void;
  /** Called for damaged content, which is not retried. */
  damaged: (err: DamagedError) => void;
}

const MAX_RETRY_MS = 60 * 60_000;

/** Background work after content was published, retried until it succeeds or is stopped. */
export class PostPublish {
  readonly #stop = new AbortController();
  /** Resolves after the first attempt. */
  readonly tried: Promise<void>;
  /** Resolves when the work has succeeded or has been stopped. */
  readonly done: Promise<void>;

  /** @param retryMs delay before the second attempt in milliseconds; doubles with each attempt, up to an hour. */
  constructor(work: (signal: AbortSignal) => Promise<void>, events: PostPublishEvents, retryMs: number) {
    const first = Promise.withResolvers<void>();
    this.tried = first.promise;
    this.done = this.#run(work, events, retryMs, first.resolve);
  }

  stop(): void {
    this.#stop.abort();
  }

  async #run(work: (signal: AbortSignal) => Promise<void>, events: PostPublishEvents, retryMs: number, tried: () => void): Promise<void> {
    const { signal } = this.#stop;
    for (let wait = retryMs; !signal.aborted; wait = Math.min(wait * 2, MAX_RETRY_MS)) {
      try {
        await work(signal);
        break;
      } catch (err) {
        if (signal.aborted) break;
        if (err instanceof DamagedError) {
          events.damaged(err);
          break;
        }
        events.failed(err);
      }
      tried();
      await sleep(wait, undefined, { signal, ref: false }).catch(() => undefined);
    }
    tried();
  }
}
