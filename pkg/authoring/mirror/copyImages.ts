import { forEachAbortOnError } from "../../async/concurrency.ts";
import { messageOf } from "../../errors/errors.ts";
import { parsePlace } from "../../oci/imagePlace.ts";
import { copyAttached } from "../../oci/publish/copyAttached.ts";
import { BlobLocations, copyImage } from "../../oci/publish/copyImage.ts";
import { isFetchFailure } from "../../oci/registry/networkError.ts";
import type { ImageWriter } from "../../oci/store/imageStore.ts";
import type { FoundImage, ImageStores } from "../../oci/store/imageStores.ts";
import { LayoutRepository } from "../../oci/store/layoutRepository.ts";
import type { LayoutStore } from "../../oci/store/layoutStore.ts";
import { destinationOf, type MirroredImage } from "./mirroredImages.ts";

/** What became of one image. */
export interface MirrorOutcome {
  readonly source: string;
  readonly destination: string;
  readonly status: "copied" | "present" | "failed";
  readonly digest?: string;
  /** that were sent, of blobs alone */
  readonly bytes?: number;
  /** signatures and what else is attached to it */
  readonly attached?: number;
  readonly error?: string;
}

/** Where images are copied from and to. */
export interface MirrorEnds {
  /** Calls `work` with an image at its source, and at the next mirror when one fails. */
  withImage<T>(image: MirroredImage, signal: AbortSignal, work: (found: FoundImage) => Promise<T>): Promise<T>;
  writer(image: MirroredImage): Promise<ImageWriter>;
}

/** How images are copied. */
export interface MirrorOptions {
  /** at once */
  readonly parallel: number;
  /** Whether the others are copied though one was not. */
  readonly continueOnError: boolean;
  readonly signal: AbortSignal;
  /** Is told of each image that is done, and how long it took. */
  readonly told: (outcome: MirrorOutcome, seconds: number) => void;
}

/**
 * Copies images with their signatures. What the mirror has already is not sent again, so that a run which was stopped is gone on with by another one.
 * @returns what became of each, in the order of `images`
 * @throws Error of the first image that fails, unless `continueOnError`.
 */
export async function copyImages(ends: MirrorEnds, images: readonly MirroredImage[], options: MirrorOptions): Promise<MirrorOutcome[]> {
  const outcomes: MirrorOutcome[] = [];
  const book = new BlobLocations();
  await forEachAbortOnError(images.entries(), options.parallel, options.signal, async ([at, image], signal) => {
    const began = performance.now();
    const outcome = await mirrored(ends, image, book, signal).catch((err: unknown) => {
      signal.throwIfAborted();
      const error = `mirroring ${image.source}: ${messageOf(err)}`;
      if (!options.continueOnError) throw new Error(error, { cause: err });
      return { source: image.source, destination: destinationOf(image), status: "failed", error } satisfies MirrorOutcome;
    });
    outcomes[at] = outcome;
    options.told(outcome, (performance.now() - began) / 1000);
  });
  return outcomes;
}

/** From where each image is, or from the layout that carries them all, to a registry, or to such a layout. */
export function mirrorEnds(
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
      const place = parsePlace(destinationOf(image));
      if (place.kind !== "registry") throw new Error(`${destinationOf(image)} is in no registry`);
      return stores.registry(place.ref);
    },
  };
}

async function mirrored(ends: MirrorEnds, image: MirroredImage, book: BlobLocations, signal: AbortSignal): Promise<MirrorOutcome> {
  const destination = destinationOf(image);
  const writer = await ends.writer(image);
  const done = await ends.withImage(
    image,
    signal,
    async ({ reader, manifest }): Promise<{ outcome: MirrorOutcome } | { failure: unknown }> => {
      try {
        const copied = await copyImage(reader, manifest, writer, { tag: image.tag, signal, book });
        const attached = await copyAttached(reader, copied, writer, { signal, book });
        const { fate: status, digest, bytes } = copied;
        return { outcome: { source: image.source, destination, status, digest, bytes, attached } };
      } catch (err) {
        if (isFetchFailure(err)) throw err;
        return { failure: err }; // another mirror does not help
      }
    },
  );
  if ("failure" in done) throw done.failure;
  return done.outcome;
}
