import { createHash } from "node:crypto";
import type { KubeObject } from "../api/k8s.ts";
import { loadBundle } from "../bundle/load.ts";
import type { BundleFiles, RegistryV1Bundle } from "../bundle/types.ts";
import type { Clock } from "../controller/clock.ts";
import { canonicalJson } from "../fbc/canonical.ts";
import { type RenderOptions, renderBundle } from "../render/render.ts";

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

interface Kept {
  readonly bundle: Promise<RegistryV1Bundle>;
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
  readonly #rendered = new WeakMap<RegistryV1Bundle, Map<string, readonly KubeObject[]>>();

  constructor(clock: Clock, limits: BundleCacheLimits = LIMITS) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** How many bundles are kept, and of how many bytes of files. */
  get size(): { bundles: number; bytes: number } {
    return { bundles: this.#kept.size, bytes: this.#bytes() };
  }

  /**
   * The bundle of the image with this digest; `read` gives its files where they have to be read. What cannot be loaded is not kept.
   * @throws as `read` and `loadBundle`.
   */
  load(digest: string, read: () => Promise<BundleFiles>): Promise<RegistryV1Bundle> {
    const kept = this.#kept.get(digest) ?? this.#begin(digest, read);
    kept.cancel();
    kept.cancel = this.#clock.after(this.#limits.keepMs, () => this.#drop(digest, kept));
    this.#kept.delete(digest);
    this.#kept.set(digest, kept);
    return kept.bundle;
  }

  /**
   * What `renderBundle` makes of a bundle, the same objects for a bundle that was given by `load` and equal options.
   * @throws as `renderBundle`; that is found out anew each time.
   */
  render(bundle: RegistryV1Bundle, options: RenderOptions): readonly KubeObject[] {
    const renderings = this.#rendered.get(bundle) ?? new Map<string, readonly KubeObject[]>();
    const key = keyOf(options);
    const objects = renderings.get(key) ?? renderBundle(bundle, options);
    renderings.delete(key);
    renderings.set(key, objects);
    for (const oldest of [...renderings.keys()].slice(0, -MAX_RENDERINGS)) renderings.delete(oldest);
    this.#rendered.set(bundle, renderings);
    return objects;
  }

  #begin(digest: string, read: () => Promise<BundleFiles>): Kept {
    const loading = async (): Promise<RegistryV1Bundle> => {
      try {
        const files = await read();
        for (const { byteLength } of files.values()) kept.bytes += byteLength;
        const bundle = loadBundle(files);
        this.#shrink();
        return bundle;
      } catch (err) {
        this.#drop(digest, kept);
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

/** The same for equal options; a hash, since configuration may hold what was read from Secrets. */
function keyOf(options: RenderOptions): string {
  return createHash("sha256")
    .update(canonicalJson({ ...options, certProvider: options.certProvider?.name ?? null }))
    .digest("hex");
}
