import { createHash } from "node:crypto";
import { deserialize } from "node:v8";
import { LRUCache } from "lru-cache";
import { Reason } from "../../api/constants.ts";
import type { KubeObject } from "../../api/k8s.ts";
import type { Problem } from "../../api/problems.ts";
import type { Clock } from "../../async/clock.ts";
import { Turns } from "../../async/concurrency.ts";
import { listMovable, type SendRequest, TaskThread, type TaskThreadLimits, ThreadLimitExceeded } from "../../async/taskThread.ts";
import { type BundleSummary, summarizeBundle } from "../../bundle/bundleSummary.ts";
import { createBundleTooLargeError, isWithin } from "../../bundle/limits.ts";
import { loadBundle } from "../../bundle/load.ts";
import type { BundleFiles, RegistryV1Bundle } from "../../bundle/types.ts";
import { getErrorMessage, RetryableError, TerminalError } from "../../errors/errors.ts";
import { encodeCanonicalJson } from "../../golang/json.ts";
import { type RenderOptions, renderBundle } from "../../render/render.ts";

/** A bundle that can be rendered. Its manifests may be in another thread. */
export interface RenderableBundle extends BundleSummary {
  /**
   * Renders the objects of the bundle. They may be shared with other callers: treat them as read-only.
   * @throws as `renderBundle`.
   */
  render(options: RenderOptions): Promise<readonly KubeObject[]>;
}

/** Returns the content of a bundle that was loaded in this thread. */
export function toRenderableBundle(bundle: RegistryV1Bundle): RenderableBundle {
  return {
    ...summarizeBundle(bundle),
    // Returns a rejected promise, instead of throwing, for a bundle that cannot be rendered.
    render: (options) => new Promise((resolve) => resolve(renderBundle(bundle, options))),
  };
}

/** Ten times the largest public bundle takes 3 s of CPU time. The deadline is longer for busy machines. */
const THREAD_LIMITS: TaskThreadLimits = { heapMib: 192, deadlineMs: 120_000, idleMs: 3_000 };
/** Delay before the next attempt after a bundle exceeded the deadline. */
const THREAD_REST_MS = 300_000;

type SendToThread = SendRequest<BundleRequest, BundleResponse>;

/** Loads and renders large bundles in a worker thread, with the same functions as in the main thread. */
export class BundleThread {
  readonly #thread: TaskThread<BundleRequest, BundleResponse>;

  constructor(clock: Clock, limits: TaskThreadLimits = THREAD_LIMITS) {
    this.#thread = new TaskThread(import.meta.dirname, "bundleWorker", limits, clock);
  }

  /** Whether the thread is running. */
  get isRunning(): boolean {
    return this.#thread.isRunning;
  }

  /**
   * Loads a bundle. Transfers the content of `files` to the thread, which empties `files`.
   * @param read reads the files again if the thread ends or loads another bundle before rendering.
   * @throws as `loadBundle`.
   * @throws TerminalError Blocked for a bundle that needs more memory than the thread has.
   * @throws RetryableError Retrying for a bundle that takes too long.
   */
  async load(digest: string, files: BundleFiles, read: () => Promise<BundleFiles>): Promise<RenderableBundle> {
    const summary = await this.#run((ask) => this.#load(ask, digest, files));
    return { ...summary, render: (options) => this.#render(digest, options, read) };
  }

  /** Ends the thread. */
  end(): Promise<void> {
    return this.#thread.end();
  }

  async #load(ask: SendToThread, digest: string, files: BundleFiles) {
    const response = await ask({ kind: "load", digest, files }, listMovable(files.values()));
    if (response.kind !== "loaded") throw createResponseError(response);
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
      if (response.kind !== "rendered") throw createResponseError(response);
      return response.objects;
    });
    return decodeAll(objects);
  }

  async #run<T>(work: (ask: SendToThread) => Promise<T>): Promise<T> {
    try {
      return await this.#thread.run(work);
    } catch (err) {
      if (!(err instanceof ThreadLimitExceeded)) throw err;
      if (err.limit === "memory") throw createBundleTooLargeError(`loading and rendering ${getErrorMessage(err)}`, { cause: err });
      throw new RetryableError(Reason.Retrying, `cannot load and render the bundle: ${getErrorMessage(err)}`, {
        cause: err,
        restMs: THREAD_REST_MS,
      });
    }
  }
}

function createResponseError(response: BundleResponse): Error {
  if (response.kind !== "failed") return new Error(`unexpected response from the bundle loader thread: ${response.kind}`);
  const { terminal, reason, message, problems } = response;
  return terminal ? new TerminalError(reason, message, { problems }) : new RetryableError(reason, message, { problems });
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

/** Limits of the cache. */
export interface BundleCacheLimits {
  /** Total size of the files of all bundles. A loaded bundle needs about twice as much memory. */
  readonly maxBytes: number;
  readonly maxBundles: number;
  /** How long to keep a bundle after its last use, in milliseconds. */
  readonly keepMs: number;
  /** Number of last renderings to keep with a bundle, which can need more memory than the bundle. 0 to keep none. */
  readonly maxRenderings: number;
}

/**
 * Bundles are kept for retries and for other extensions with the same image, which differ in namespace and
 * configuration. The largest real bundle has 7 MB.
 */
const CACHE_LIMITS: BundleCacheLimits = { maxBytes: 8 * 1024 * 1024, maxBundles: 8, keepMs: 30_000, maxRenderings: 4 };
/**
 * Limits of a bundle that is loaded and rendered in the main thread, which blocks it for 50 ms at most. Nine of ten
 * public bundles are below these limits: starting a worker thread would take longer than loading such a bundle.
 */
const MAIN_THREAD_LIMITS = { bytes: 1024 * 1024, separators: 12_000 };

interface CachedBundle {
  readonly bundle: Promise<RenderableBundle>;
  bytes: number;
  cancel: () => void;
}

/**
 * Cache of loaded and rendered bundles. Avoids reading and rendering megabytes again for retries and for other
 * extensions with the same image. Drops the least recently used bundle first. Results are shared: treat them as
 * read-only.
 */
export class BundleCache {
  readonly #clock: Clock;
  readonly #limits: BundleCacheLimits;
  /** By image digest; the most recently used bundle is last. */
  readonly #kept = new Map<string, CachedBundle>();
  readonly #thread: Pick<BundleThread, "load">;

  /** @param thread loads and renders large bundles. */
  constructor(clock: Clock, limits: BundleCacheLimits = CACHE_LIMITS, thread: Pick<BundleThread, "load"> = new BundleThread(clock)) {
    this.#clock = clock;
    this.#limits = limits;
    this.#thread = thread;
  }

  /** Number of cached bundles, and total size of their files in bytes. */
  get size(): { bundles: number; bytes: number } {
    return { bundles: this.#kept.size, bytes: this.#bytes() };
  }

  /**
   * Loads the bundle from the image with this digest. Calls `read` if the bundle is not cached. Rendering it with equal
   * options returns the same objects. Caches the error for a bundle that exceeds a limit, because detecting it is
   * expensive. Caches no other errors.
   * @throws as `read` and `BundleThread.load`.
   */
  load(digest: string, read: () => Promise<BundleFiles>): Promise<RenderableBundle> {
    return this.#use(digest, this.#kept.get(digest) ?? this.#begin(digest, read));
  }

  /** Returns the bundle from the image with this digest if it is cached; otherwise undefined. @throws as `load` */
  find(digest: string): Promise<RenderableBundle> | undefined {
    const kept = this.#kept.get(digest);
    return kept && this.#use(digest, kept);
  }

  #use(digest: string, kept: CachedBundle): Promise<RenderableBundle> {
    kept.cancel();
    kept.cancel = this.#clock.after(this.#limits.keepMs, () => this.#drop(digest, kept));
    this.#kept.delete(digest);
    this.#kept.set(digest, kept);
    return kept.bundle;
  }

  #begin(digest: string, read: () => Promise<BundleFiles>): CachedBundle {
    const loading = async (): Promise<RenderableBundle> => {
      try {
        const files = await read();
        for (const { byteLength } of files.values()) kept.bytes += byteLength;
        const content = isWithin(files, MAIN_THREAD_LIMITS)
          ? toRenderableBundle(loadBundle(files))
          : await this.#thread.load(digest, files, read);
        this.#shrink();
        const { maxRenderings } = this.#limits;
        return maxRenderings === 0 ? content : cacheRenderings(content, maxRenderings);
      } catch (err) {
        kept.bytes = 0;
        if (!(err instanceof TerminalError)) this.#drop(digest, kept);
        throw err;
      }
    };
    const kept: CachedBundle = { bundle: Promise.resolve().then(loading), bytes: 0, cancel: () => undefined };
    return kept;
  }

  #shrink(): void {
    const { maxBytes, maxBundles } = this.#limits;
    for (const [digest, kept] of this.#kept) {
      if (this.#kept.size <= maxBundles && this.#bytes() <= maxBytes) return;
      this.#drop(digest, kept);
    }
  }

  #drop(digest: string, kept: CachedBundle): void {
    kept.cancel();
    if (this.#kept.get(digest) === kept) this.#kept.delete(digest);
  }

  #bytes(): number {
    return [...this.#kept.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }
}

/** Returns `content` with a cache of its last renderings. */
function cacheRenderings(content: RenderableBundle, max: number): RenderableBundle {
  const renderings = new LRUCache<string, Promise<readonly KubeObject[]>>({ max });
  return {
    ...content,
    render: (options) => {
      const key = renderKey(options);
      const known = renderings.get(key);
      if (known) return known;
      const rendering = content.render(options);
      rendering.catch(() => renderings.delete(key));
      renderings.set(key, rendering);
      return rendering;
    },
  };
}

/**
 * Returns a cache key for rendering options. The key is a hash, because the configuration may contain values from
 * Secrets.
 */
function renderKey(options: RenderOptions): string {
  return createHash("sha256")
    .update(encodeCanonicalJson({ ...options, certProvider: options.certProvider?.name ?? null }))
    .digest("hex");
}

/**
 * Rendering options for another thread. Contains only the name of the certificate provider, because functions cannot be
 * sent to a thread.
 */
type RenderTask = Omit<RenderOptions, "certProvider"> & { readonly certProvider: string | undefined };

/** A request of `BundleThread` to its thread, one at a time. */
export type BundleRequest =
  | { readonly kind: "load"; readonly digest: string; readonly files: ReadonlyMap<string, Uint8Array> }
  | { readonly kind: "render"; readonly digest: string; readonly options: RenderTask };

/** An object as bytes: in JSON, or in the format of `v8.serialize` if the object has integers that JSON would round. */
export interface EncodedObject {
  readonly format: "json" | "v8";
  readonly bytes: Uint8Array;
}

/** The response to a request. */
export type BundleResponse =
  | { readonly kind: "loaded"; readonly summary: BundleSummary }
  | { readonly kind: "rendered"; readonly objects: readonly EncodedObject[] }
  /** The thread has not loaded the requested bundle. */
  | { readonly kind: "unknown" }
  | {
      readonly kind: "failed";
      readonly terminal: boolean;
      readonly reason: string;
      readonly message: string;
      readonly problems: Problem[];
    };
