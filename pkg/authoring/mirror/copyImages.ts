import { forEachAbortOnError } from "../../async/concurrency.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { parsePlace } from "../../oci/imagePlace.ts";
import { copyAttached } from "../../oci/publish/copyAttached.ts";
import { BlobLocations, copyImage } from "../../oci/publish/copyImage.ts";
import { isFetchFailure } from "../../oci/registry/networkError.ts";
import type { ImageWriter } from "../../oci/store/imageStore.ts";
import type { FoundImage, ImageStores } from "../../oci/store/imageStores.ts";
import { LayoutRepository } from "../../oci/store/layoutRepository.ts";
import type { LayoutStore } from "../../oci/store/layoutStore.ts";
import { formatDestination, type MirroredImage } from "./mirroredImages.ts";

/** The result of mirroring an image. */
export interface MirrorOutcome {
  readonly source: string;
  readonly destination: string;
  readonly status: "copied" | "present" | "failed";
  readonly digest?: string;
  /** Bytes of the copied blobs. */
  readonly bytes?: number;
  /** Number of copied signatures and other attached artifacts. */
  readonly attached?: number;
  readonly error?: string;
}

/** Sources and destinations of images. */
export interface MirrorEnds {
  /** Calls `work` with an image at its source. If a mirror fails, calls `work` again with the next mirror. */
  withImage<T>(image: MirroredImage, signal: AbortSignal, work: (found: FoundImage) => Promise<T>): Promise<T>;
  writer(image: MirroredImage): Promise<ImageWriter>;
}

/** Options for copying images. */
export interface MirrorOptions {
  /** Maximum concurrent copies. */
  readonly parallel: number;
  /** Whether to copy the remaining images after an error. */
  readonly continueOnError: boolean;
  readonly signal: AbortSignal;
  /** Called after each image, with the duration of the copy. */
  readonly onImage: (outcome: MirrorOutcome, seconds: number) => void;
}

/**
 * Copies images with their signatures. Skips content that the mirror already contains, so a second run resumes an interrupted run.
 * @returns a result for each image, in the order of `images`
 * @throws the error of the first failed image, unless `continueOnError` is set.
 */
export async function copyImages(ends: MirrorEnds, images: readonly MirroredImage[], options: MirrorOptions): Promise<MirrorOutcome[]> {
  const outcomes: MirrorOutcome[] = [];
  const blobs = new BlobLocations();
  await forEachAbortOnError(images.entries(), options.parallel, options.signal, async ([at, image], signal) => {
    const began = performance.now();
    const outcome = await mirrorImage(ends, image, blobs, signal).catch((err: unknown) => {
      signal.throwIfAborted();
      const error = `mirroring ${image.source}: ${getErrorMessage(err)}`;
      if (!options.continueOnError) throw new Error(error, { cause: err });
      return { source: image.source, destination: formatDestination(image), status: "failed", error } satisfies MirrorOutcome;
    });
    outcomes[at] = outcome;
    options.onImage(outcome, (performance.now() - began) / 1000);
  });
  return outcomes;
}

/**
 * Creates sources and destinations. Reads images from layout `from` if it is set, otherwise from their registries. Writes images to layout `to` if it
 * is set, otherwise to a registry.
 */
export function createMirrorEnds(
  stores: ImageStores,
  { from, to }: { from?: LayoutStore | undefined; to?: LayoutStore | undefined },
): MirrorEnds {
  return {
    withImage: async (image, signal, work) => {
      if (!from) return stores.withImage(parsePlace(image.source), signal, work);
      const reader = new LayoutRepository(from, image.sourceRepository);
      return work({ reader, manifest: await reader.manifest(image.digest ?? image.tag, signal) });
    },
    writer: async (image) => {
      if (to) return new LayoutRepository(to, image.repository);
      const place = parsePlace(formatDestination(image));
      if (place.kind !== "registry") throw new Error(`${formatDestination(image)} is not in a registry`);
      return stores.registry(place.ref);
    },
  };
}

async function mirrorImage(ends: MirrorEnds, image: MirroredImage, blobs: BlobLocations, signal: AbortSignal): Promise<MirrorOutcome> {
  const destination = formatDestination(image);
  const writer = await ends.writer(image);
  const done = await ends.withImage(
    image,
    signal,
    async ({ reader, manifest }): Promise<{ outcome: MirrorOutcome } | { failure: unknown }> => {
      try {
        const copied = await copyImage(reader, manifest, writer, { tag: image.tag, signal, book: blobs });
        const attached = await copyAttached(reader, copied, writer, { signal, book: blobs });
        const { outcome: status, digest, bytes } = copied;
        return { outcome: { source: image.source, destination, status, digest, bytes, attached } };
      } catch (err) {
        if (isFetchFailure(err)) throw err;
        return { failure: err }; // not a fetch error, so another mirror would not help
      }
    },
  );
  if ("failure" in done) throw done.failure;
  return done.outcome;
}
