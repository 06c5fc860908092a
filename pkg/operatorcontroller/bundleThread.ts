import { deserialize } from "node:v8";
import { Reason } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import { type Ask, movable, TaskThread, type TaskThreadLimits, ThreadLimitExceeded } from "../async/taskThread.ts";
import { Turns } from "../async/turns.ts";
import { bundleTooLarge } from "../bundle/limits.ts";
import type { BundleFiles } from "../bundle/types.ts";
import type { Clock } from "../async/clock.ts";
import { messageOf, RetryableError, TerminalError } from "../errors/errors.ts";
import type { RenderOptions } from "../render/render.ts";
import type { BundleContent } from "./bundleContent.ts";
import type { BundleRequest, BundleResponse, EncodedObject } from "./bundleMessage.ts";

/** Ten times the largest public bundle takes 3 s of CPU; the rest of the deadline is for machines that do much else. */
const LIMITS: TaskThreadLimits = { heapMib: 192, deadlineMs: 120_000, idleMs: 3_000 };
/** A machine that is too busy for a bundle is not asked again at once. */
const REST_MS = 300_000;

type AskThread = Ask<BundleRequest, BundleResponse>;

/** Loads and renders large bundles in a worker thread, with the functions that load and render small ones in the main thread. */
export class BundleThread {
  readonly #thread: TaskThread<BundleRequest, BundleResponse>;

  constructor(clock: Clock, limits: TaskThreadLimits = LIMITS) {
    this.#thread = new TaskThread(import.meta.dirname, "bundleWorker", limits, clock);
  }

  /** Whether the thread is running. */
  get isRunning(): boolean {
    return this.#thread.isRunning;
  }

  /**
   * Loads a bundle. `files` are moved to the thread and empty afterwards.
   * @param read reads the files again, in case the thread has ended or loaded another bundle before the bundle is rendered.
   * @throws as `loadBundle`. @throws TerminalError Blocked for a bundle that takes more memory than the thread has.
   * @throws RetryableError Retrying for one that takes too long.
   */
  async load(digest: string, files: BundleFiles, read: () => Promise<BundleFiles>): Promise<BundleContent> {
    const summary = await this.#run((ask) => this.#load(ask, digest, files));
    return { ...summary, render: (options) => this.#render(digest, options, read) };
  }

  /** Ends the thread. */
  end(): Promise<void> {
    return this.#thread.end();
  }

  async #load(ask: AskThread, digest: string, files: BundleFiles) {
    const response = await ask({ kind: "load", digest, files }, movable(files.values()));
    if (response.kind !== "loaded") throw errorOf(response);
    return response.summary;
  }

  async #render(digest: string, options: RenderOptions, read: () => Promise<BundleFiles>): Promise<readonly KubeObject[]> {
    const request: BundleRequest = { kind: "render", digest, options: { ...options, certProvider: options.certProvider?.name } };
    const objects = await this.#run(async (ask) => {
      let response = await ask(request);
      if (response.kind === "unknown") {
        await this.#load(ask, digest, await read());
        response = await ask(request);
      }
      if (response.kind !== "rendered") throw errorOf(response);
      return response.objects;
    });
    return decodeAll(objects);
  }

  async #run<T>(work: (ask: AskThread) => Promise<T>): Promise<T> {
    try {
      return await this.#thread.run(work);
    } catch (err) {
      if (!(err instanceof ThreadLimitExceeded)) throw err;
      if (err.limit === "memory") throw bundleTooLarge(`${messageOf(err)} to load and render`, { cause: err });
      throw new RetryableError(Reason.Retrying, `cannot load and render the bundle: ${messageOf(err)}`, { cause: err, restMs: REST_MS });
    }
  }
}

function errorOf(response: BundleResponse): Error {
  if (response.kind !== "failed") return new Error(`the thread that loads bundles responded with ${response.kind}`);
  const { terminal, reason, message } = response;
  return terminal ? new TerminalError(reason, message) : new RetryableError(reason, message);
}

async function decodeAll(encoded: readonly EncodedObject[]): Promise<KubeObject[]> {
  const objects: KubeObject[] = [];
  const turns = new Turns();
  for (const { format, bytes } of encoded) {
    objects.push((format === "json" ? JSON.parse(new TextDecoder().decode(bytes)) : deserialize(bytes)) as KubeObject);
    await turns.pause();
  }
  return objects;
}
