import { createHash } from "node:crypto";
import type { KubeObject } from "../api/k8s.ts";
import { isWithin } from "../bundle/limits.ts";
import { loadBundle } from "../bundle/load.ts";
import type { BundleFiles } from "../bundle/types.ts";
import type { Clock } from "../async/clock.ts";
import { TerminalError } from "../errors/errors.ts";
import { canonicalJson } from "../golang/json.ts";
import type { RenderOptions } from "../render/render.ts";
import { type BundleContent, contentOf } from "./bundleContent.ts";
import { BundleThread } from "./bundleThread.ts";

/** How much is kept, and for how long. */
export interface BundleCacheLimits {
  /** Of the files that the bundles were read from; a loaded bundle takes about twice as much memory. */
  readonly maxBytes: number;
  readonly maxBundles: number;
  /** Since it was last asked for. */
  readonly keepMs: number;
}

/** One is read by a pass, waits for its next try, and by others of the same image; the largest real one has 7 MB. */
const LIMITS: BundleCacheLimits = { maxBytes: 8 * 1024 * 1024, maxBundles: 8, keepMs: 30_000 };
/** Extensions of one bundle differ in namespace and configuration. */
const MAX_RENDERINGS = 4;
/**
 * Most of a bundle that is loaded and rendered in the main thread, which it stops for 50 ms at worst. It holds for nine of ten public bundles:
 * a worker thread would take longer to start than these take to load.
 */
const MAIN_THREAD = { bytes: 1024 * 1024, separators: 12_000 };

interface Kept {
  readonly bundle: Promise<BundleContent>;
  bytes: number;
  cancel: () => void;
}

/**
 * Bundles as they were last loaded and rendered: a pass that is tried again, or another extension with the same image, does not read and
 * render megabytes anew. What was used longest ago goes first. What it gives is shared: read-only.
 */
export class BundleCache {
  readonly #clock: Clock;
  readonly #limits: BundleCacheLimits;
  /** By digest, what was used last at the end. */
  readonly #kept = new Map<string, Kept>();
  readonly #thread: Pick<BundleThread, "load">;

  /** @param thread loads and renders large bundles. */
  constructor(clock: Clock, limits: BundleCacheLimits = LIMITS, thread: Pick<BundleThread, "load"> = new BundleThread(clock)) {
    this.#clock = clock;
    this.#limits = limits;
    this.#thread = thread;
  }

  /** How many bundles are kept, and of how many bytes of files. */
  get size(): { bundles: number; bytes: number } {
    return { bundles: this.#kept.size, bytes: this.#bytes() };
  }

  /**
   * Loads the bundle of the image with this digest; `read` reads its files if the bundle is not kept. Rendering it with equal options returns the same
   * objects. A bundle above a limit is kept as its error, because finding that out is expensive; what fails otherwise is not kept.
   * @throws as `read` and `BundleThread.load`.
   */
  load(digest: string, read: () => Promise<BundleFiles>): Promise<BundleContent> {
    const kept = this.#kept.get(digest) ?? this.#begin(digest, read);
    kept.cancel();
    kept.cancel = this.#clock.after(this.#limits.keepMs, () => this.#drop(digest, kept));
    this.#kept.delete(digest);
    this.#kept.set(digest, kept);
    return kept.bundle;
  }

  #begin(digest: string, read: () => Promise<BundleFiles>): Kept {
    const loading = async (): Promise<BundleContent> => {
      try {
        const files = await read();
        for (const { byteLength } of files.values()) kept.bytes += byteLength;
        const content = isWithin(files, MAIN_THREAD) ? contentOf(loadBundle(files)) : await this.#thread.load(digest, files, read);
        this.#shrink();
        return remembering(content);
      } catch (err) {
        kept.bytes = 0;
        if (!(err instanceof TerminalError)) this.#drop(digest, kept);
        throw err;
      }
    };
    const kept: Kept = { bundle: Promise.resolve().then(loading), bytes: 0, cancel: () => undefined };
    return kept;
  }

  #shrink(): void {
    const { maxBytes, maxBundles } = this.#limits;
    for (const [digest, kept] of this.#kept) {
      if (this.#kept.size <= maxBundles && this.#bytes() <= maxBytes) return;
      this.#drop(digest, kept);
    }
  }

  #drop(digest: string, kept: Kept): void {
    kept.cancel();
    if (this.#kept.get(digest) === kept) this.#kept.delete(digest);
  }

  #bytes(): number {
    return [...this.#kept.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }
}

/** Returns `content` with the last objects that were rendered of it. */
function remembering(content: BundleContent): BundleContent {
  const renderings = new Map<string, Promise<readonly KubeObject[]>>();
  return {
    ...content,
    render: (options) => {
      const key = keyOf(options);
      const known = renderings.get(key);
      const rendering = known ?? content.render(options);
      if (!known) rendering.catch(() => renderings.delete(key));
      renderings.delete(key);
      renderings.set(key, rendering);
      for (const oldest of [...renderings.keys()].slice(0, -MAX_RENDERINGS)) renderings.delete(oldest);
      return rendering;
    },
  };
}

/** The same for equal options; a hash, since configuration may hold what was read from Secrets. */
function keyOf(options: RenderOptions): string {
  return createHash("sha256")
    .update(canonicalJson({ ...options, certProvider: options.certProvider?.name ?? null }))
    .digest("hex");
}
