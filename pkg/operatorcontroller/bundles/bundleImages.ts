import type { ObjectMeta } from "../../api/k8s.ts";
import { newProblem } from "../../api/problems.ts";
import { systemClock } from "../../async/clock.ts";
import { problemsIn, wrapError } from "../../errors/errors.ts";
import { bundleRoot } from "../../oci/pull/imageFilter.ts";
import type { ImageFilter } from "../../oci/pull/puller.ts";
import { type PullCounts, PullPool, type PullState, targetOf } from "../../oci/pull/pullPool.ts";
import { pullProblemType } from "../../oci/pull/pullProblem.ts";

/** A bundle image on disk. */
export interface BundleImage {
  readonly canonical: string;
  readonly digest: string;
  readonly dir: string;
}

/** How an image is pulled. */
interface PullOptions {
  readonly signal: AbortSignal;
  readonly filter: ImageFilter;
}

/** Pulls images, and keeps them on disk by owner. */
export interface BundlePuller {
  /** The owner's image where no network is needed for it; undefined otherwise. */
  cached(owner: string, ref: string, options: PullOptions): Promise<BundleImage | undefined>;
  pull(owner: string, ref: string, options: PullOptions): Promise<BundleImage>;
  remove(owner: string): Promise<void>;
}

/** The image of a bundle, and what is pulled in its place when it is not available. */
export interface WantedImage {
  readonly ref: string;
  readonly substitute?: string | undefined;
}

/** A wanted image. `unavailable` is why the substitute was pulled, where it was. */
export interface ObtainedImage {
  readonly image: BundleImage;
  readonly unavailable?: unknown;
}

/** The extension that asks. */
type Asking = { readonly metadata: Pick<ObjectMeta, "name" | "generation"> };

/** What unpacking a bundle needs of its image. */
export interface BundleImageSource {
  /** The image at once where it is on disk; otherwise how its pull stands, which is started if need be. Never waits for a registry. */
  obtain(extension: Asking, wanted: WantedImage, signal: AbortSignal): Promise<PullState<ObtainedImage>>;
  /** Ends the extension's pull, if there is one, for its image is not wanted. */
  cancel(extension: string): Promise<void>;
}

/** Bundle images by extension. They are pulled outside of passes; the extension is woken when its pull has ended. */
export class BundleImages implements BundleImageSource {
  readonly #puller: BundlePuller;
  readonly #pool: PullPool<ObtainedImage>;
  /** Generation of each extension when it last asked for an image. */
  readonly #generations = new Map<string, number | undefined>();

  constructor(puller: BundlePuller, wake: (extension: string) => void) {
    this.#puller = puller;
    this.#pool = new PullPool({ onChange: wake, clock: systemClock });
  }

  /** How many pulls run and wait. */
  get pulls(): PullCounts {
    return this.#pool;
  }

  async obtain(asking: Asking, wanted: WantedImage, signal: AbortSignal): Promise<PullState<ObtainedImage>> {
    const { name: extension, generation } = asking.metadata;
    this.#generations.set(extension, generation);
    const { ref, substitute } = wanted;
    const key = JSON.stringify([ref, substitute]);
    const current = this.#pool.keyOf(extension);
    if (current !== key) {
      if (current !== undefined) await this.#pool.cancel(extension);
      const image = await this.#cached(extension, ref, signal);
      if (image) return { kind: "done", value: { image } };
    }
    return this.#pool.request(extension, key, targetOf(ref), (pulling) => this.#pull(extension, wanted, pulling));
  }

  /** The spec of the extension wants no image now, or one that is not known: a pull that an earlier spec asked for ends. */
  async cancelOutdated({ metadata: { name, generation } }: Asking): Promise<void> {
    if (this.#generations.get(name) !== generation) await this.cancel(name);
  }

  /** Credentials have changed: pulls that fail with those before are started again. */
  renew(): void {
    this.#pool.renew();
  }

  async cancel(extension: string): Promise<void> {
    this.#generations.delete(extension);
    await this.#pool.cancel(extension);
  }

  /** Ends the extension's pull and removes its images. */
  async forget(extension: string): Promise<void> {
    await this.cancel(extension);
    await this.#puller.remove(extension);
  }

  /** Ends all pulls. */
  async close(): Promise<void> {
    await this.#pool.close();
  }

  /** A failure to look is left to the pull, which reports it. */
  async #cached(extension: string, ref: string, signal: AbortSignal): Promise<BundleImage | undefined> {
    try {
      return await this.#puller.cached(extension, ref, { signal, filter: bundleRoot });
    } catch {
      signal.throwIfAborted();
      return undefined;
    }
  }

  async #pull(extension: string, { ref, substitute }: WantedImage, signal: AbortSignal): Promise<ObtainedImage> {
    try {
      return { image: await this.#pullOne(extension, ref, signal) };
    } catch (unavailable) {
      signal.throwIfAborted();
      if (substitute === undefined) throw unavailable;
      return { image: await this.#pullOne(extension, substitute, signal), unavailable };
    }
  }

  /** @throws ReconcileError that carries the problem of the pull. */
  async #pullOne(extension: string, ref: string, signal: AbortSignal): Promise<BundleImage> {
    try {
      return await this.#puller.pull(extension, ref, { signal, filter: bundleRoot });
    } catch (err) {
      signal.throwIfAborted();
      if (problemsIn(err).length > 0) throw err;
      const failure = wrapError("", err);
      failure.problems = [newProblem(pullProblemType(err), { message: failure.message })];
      throw failure;
    }
  }
}
