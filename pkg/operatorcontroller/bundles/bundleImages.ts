import type { ObjectMeta } from "../../api/k8s.ts";
import { systemClock } from "../../async/clock.ts";
import { getProblems, wrapError } from "../../errors/errors.ts";
import { findBundleRoot } from "../../oci/pull/imageFilter.ts";
import type { ImageFilter } from "../../oci/pull/puller.ts";
import { type PullCounts, PullPool, type PullState, toPullTarget } from "../../oci/pull/pullPool.ts";
import { newPullProblem } from "../../oci/pull/pullProblem.ts";

/** A bundle image on disk. */
export interface BundleImage {
  readonly canonical: string;
  readonly digest: string;
  readonly dir: string;
}

/** Options of a pull. */
interface PullOptions {
  readonly signal: AbortSignal;
  readonly filter: ImageFilter;
  readonly namespace: string | undefined;
}

/** Pulls images and stores them on disk by owner. */
export interface BundlePuller {
  /** Returns the owner's image if it is available without network access, otherwise undefined. */
  cached(owner: string, ref: string, options: PullOptions): Promise<BundleImage | undefined>;
  pull(owner: string, ref: string, options: PullOptions): Promise<BundleImage>;
  remove(owner: string): Promise<void>;
}

/** The image of a bundle, and a substitute to pull if the image is not available. */
export interface RequestedImage {
  readonly ref: string;
  readonly substitute?: string | undefined;
  /** the namespace of the extension, whose ImagePolicies apply; undefined if it is not known yet */
  readonly namespace?: string | undefined;
}

/** A pulled image. `unavailable` is the error of the first image if the substitute was pulled. */
export interface ObtainedImage {
  readonly image: BundleImage;
  readonly unavailable?: unknown;
}

/** The extension that needs an image. */
type Requester = { readonly metadata: Pick<ObjectMeta, "name" | "generation"> };

/** Provides bundle images for unpacking. */
export interface BundleImageSource {
  /**
   * Returns the image if it is on disk. Otherwise starts a pull if none is running, and returns the state of the pull.
   * Never waits for a registry.
   */
  obtain(extension: Requester, requested: RequestedImage, signal: AbortSignal): Promise<PullState<ObtainedImage>>;
  /** Cancels the running pull of an extension, if any, because the image is not needed. */
  cancel(extension: string): Promise<void>;
}

/** Bundle images by extension. Images are pulled outside of reconciles; the end of a pull requeues the extension. */
export class BundleImages implements BundleImageSource {
  readonly #puller: BundlePuller;
  readonly #pool: PullPool<ObtainedImage>;
  /** Generation of each extension at its last request for an image. */
  readonly #generations = new Map<string, number | undefined>();

  constructor(puller: BundlePuller, requeue: (extension: string) => void) {
    this.#puller = puller;
    this.#pool = new PullPool({ onChange: requeue, clock: systemClock });
  }

  /** Number of running and waiting pulls. */
  get pulls(): PullCounts {
    return this.#pool;
  }

  async obtain(requester: Requester, requested: RequestedImage, signal: AbortSignal): Promise<PullState<ObtainedImage>> {
    const { name: extension, generation } = requester.metadata;
    this.#generations.set(extension, generation);
    const { ref, substitute, namespace } = requested;
    const key = JSON.stringify([ref, substitute, namespace]);
    const current = this.#pool.keyOf(extension);
    if (current !== key) {
      if (current !== undefined) await this.#pool.cancel(extension);
      const image = await this.#cached(extension, requested, signal);
      if (image) return { kind: "done", value: { image } };
    }
    return this.#pool.request(extension, key, toPullTarget(ref), (pulling) => this.#pull(extension, requested, pulling));
  }

  /** Cancels the pull for an earlier spec if the current spec needs no image, or the image is not known yet. */
  async cancelOutdated({ metadata: { name, generation } }: Requester): Promise<void> {
    if (this.#generations.get(name) !== generation) await this.cancel(name);
  }

  /** Restarts failing pulls after the credentials have changed. */
  renew(): void {
    this.#pool.renew();
  }

  async cancel(extension: string): Promise<void> {
    this.#generations.delete(extension);
    await this.#pool.cancel(extension);
  }

  /** Cancels the pull of an extension and removes its images. */
  async forget(extension: string): Promise<void> {
    await this.cancel(extension);
    await this.#puller.remove(extension);
  }

  /** Cancels all pulls. */
  async close(): Promise<void> {
    await this.#pool.close();
  }

  /** Returns the image on disk. Returns undefined on an error, because the pull reports the error. */
  async #cached(extension: string, { ref, namespace }: RequestedImage, signal: AbortSignal): Promise<BundleImage | undefined> {
    try {
      return await this.#puller.cached(extension, ref, { signal, namespace, filter: findBundleRoot });
    } catch {
      signal.throwIfAborted();
      return undefined;
    }
  }

  async #pull(extension: string, { ref, substitute, namespace }: RequestedImage, signal: AbortSignal): Promise<ObtainedImage> {
    const options = { signal, namespace, filter: findBundleRoot };
    try {
      return { image: await this.#pullOne(extension, ref, options) };
    } catch (unavailable) {
      signal.throwIfAborted();
      if (substitute === undefined) throw unavailable;
      return { image: await this.#pullOne(extension, substitute, options), unavailable };
    }
  }

  /** @throws ReconcileError that contains the problem of the pull. */
  async #pullOne(extension: string, ref: string, options: PullOptions): Promise<BundleImage> {
    try {
      return await this.#puller.pull(extension, ref, options);
    } catch (err) {
      options.signal.throwIfAborted();
      if (getProblems(err).length > 0) throw err;
      const failure = wrapError("", err);
      failure.problems = [newPullProblem(err, failure.message)];
      throw failure;
    }
  }
}
