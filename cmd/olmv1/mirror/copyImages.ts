import { messageOf } from "../../../pkg/errors/errors.ts";
import { destinationOf, type MirroredImage } from "../../../pkg/mirror/mirroredImages.ts";
import { allOrNone } from "../../../pkg/oci/allOrNone.ts";
import { copyAttached } from "../../../pkg/oci/store/attached.ts";
import { BlobBook } from "../../../pkg/oci/store/blobBook.ts";
import { copyImage } from "../../../pkg/oci/store/copyImage.ts";
import { parsePlace } from "../../../pkg/oci/store/imagePlace.ts";
import type { ImageStores } from "../../../pkg/oci/store/imageStores.ts";

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
export async function copyImages(stores: ImageStores, images: readonly MirroredImage[], options: MirrorOptions): Promise<MirrorOutcome[]> {
  const outcomes: MirrorOutcome[] = [];
  const book = new BlobBook();
  await allOrNone(images.entries(), options.parallel, options.signal, async ([at, image], signal) => {
    const began = performance.now();
    const outcome = await mirrored(stores, image, book, signal).catch((err: unknown) => {
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

async function mirrored(stores: ImageStores, image: MirroredImage, book: BlobBook, signal: AbortSignal): Promise<MirrorOutcome> {
  const destination = destinationOf(image);
  const to = parsePlace(destination);
  if (to.kind !== "registry") throw new Error(`${destination} is in no registry`);
  const { reader, manifest } = await stores.find(parsePlace(image.source), signal);
  const writer = await stores.registry(to.ref);
  const copied = await copyImage(reader, manifest, writer, { tag: image.tag, signal, book });
  const attached = await copyAttached(reader, copied, writer, { signal, book });
  return { source: image.source, destination, status: copied.fate, digest: copied.digest, bytes: copied.bytes, attached };
}
