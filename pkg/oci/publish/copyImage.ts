import { forEachAbortOnError } from "../../async/concurrency.ts";
import { KeyedLock } from "../../async/keyedLock.ts";
import { ImageContentError } from "../imageErrors.ts";
import { type Descriptor, parseManifest } from "../manifest.ts";
import type { FetchedManifest } from "../registry/repository.ts";
import type { BlobOutcome, ImageReader, ImageWriter } from "../store/imageStore.ts";

/**
 * Records the repositories in which this process wrote or found each blob, so that a blob is sent
 * to a registry only once.
 */
export class BlobLocations {
  readonly #lock = new KeyedLock();
  /** "registry/repository" by digest */
  readonly #held = new Map<string, Set<string>>();

  /**
   * Calls `put` with the paths of the repositories that contain a blob in the registry of
   * `repository`. Handles one upload of a blob at a time, so that the next upload can mount it.
   * @param repository "registry/repository", which contains the blob afterwards
   */
  placing<T>(digest: string, repository: string, signal: AbortSignal, put: (mountFrom: readonly string[]) => Promise<T>): Promise<T> {
    return this.#lock.run(digest, signal, async () => {
      const held = this.#held.get(digest) ?? new Set();
      const registry = `${repository.split("/")[0]}/`;
      const others = [...held].filter((one) => one !== repository && one.startsWith(registry));
      const result = await put(others.map((one) => one.slice(registry.length)));
      this.#held.set(digest, held.add(repository));
      return result;
    });
  }
}

/** Options of a copy. */
export interface CopyOptions {
  /** the tag of the copy; if undefined, only the digest identifies it */
  readonly tag?: string | undefined;
  readonly signal: AbortSignal;
  /**
   * Locations of blobs in the destination's registry. If undefined, every blob is sent that the
   * repository does not have.
   */
  readonly book?: BlobLocations | undefined;
}

/** A copied or already existing image. */
export interface CopiedImage {
  readonly digest: string;
  readonly mediaType: string;
  /** Whether the image already existed. */
  readonly outcome: "present" | "copied";
  /** digests of all its manifests; the last is the digest of the image */
  readonly manifests: readonly string[];
  /** size of the sent blobs, without manifests */
  readonly bytes: number;
}

/** Number of blobs of one image that are copied concurrently. */
const PARALLEL_BLOBS = 3;
/** Maximum nesting depth of indexes. */
const DEPTH_MAX = 4;
/** Media types of nondistributable layers, which clients fetch from other locations. */
const FOREIGN = /\.(?:foreign|nondistributable)\./;

/**
 * Copies an image and everything that it references; for an index, all platforms. Manifests are
 * copied byte for byte, so digests stay the same. Does not send existing content again; a layout
 * may be incomplete, so all of its content is checked.
 * @throws ImageContentError for a malformed manifest; Error of either side.
 */
export async function copyImage(from: ImageReader, top: FetchedManifest, to: ImageWriter, options: CopyOptions): Promise<CopiedImage> {
  const copy = new ImageCopy(from, to, options);
  const { tag, signal } = options;
  const { digest, mediaType } = top;
  const isThere = (await to.has(digest, signal)) === digest;
  const isTagged = isThere && (tag === undefined || (await to.has(tag, signal)) === digest);
  await copy.add(top, isThere && to.isWhole, 0);
  if (!isTagged) await to.putManifest(top, tag, signal);
  const outcome = isTagged && !copy.isMended ? "present" : "copied";
  return { digest, mediaType, outcome: outcome, manifests: copy.manifests, bytes: copy.bytes };
}

class ImageCopy {
  readonly manifests: string[] = [];
  bytes = 0;
  /** Whether referenced content was missing. */
  isMended = false;
  readonly #from: ImageReader;
  readonly #to: ImageWriter;
  readonly #options: CopyOptions;

  constructor(from: ImageReader, to: ImageWriter, options: CopyOptions) {
    this.#from = from;
    this.#to = to;
    this.#options = options;
  }

  /** Copies the content that a manifest references, and records its digest. */
  async add(manifest: FetchedManifest, isThere: boolean, depth: number): Promise<void> {
    const parsed = parseManifest(manifest.bytes, manifest.mediaType);
    if (parsed.kind === "index") {
      for (const child of parsed.manifests) await this.#addChild(child, isThere, depth + 1);
    } else if (!isThere) await this.#addBlobs([parsed.config, ...parsed.layers]);
    this.manifests.push(manifest.digest);
  }

  async #addChild(child: Descriptor, isThere: boolean, depth: number): Promise<void> {
    if (depth > DEPTH_MAX) throw new ImageContentError("the image index is nested too deeply");
    const { signal } = this.#options;
    if (isThere) {
      this.manifests.push(child.digest);
      return;
    }
    const fetched = await this.#from.manifest(child.digest, signal);
    if (fetched.bytes.byteLength !== child.size)
      throw new ImageContentError(
        `manifest ${child.digest} has ${fetched.bytes.byteLength} bytes, but the image index lists ${child.size}`,
      );
    const manifest = { ...fetched, mediaType: fetched.mediaType || child.mediaType };
    const held = (await this.#to.has(child.digest, signal)) === child.digest;
    await this.add(manifest, held && this.#to.isWhole, depth);
    if (held) return;
    await this.#to.putManifest(manifest, undefined, signal);
    this.isMended = true;
  }

  async #addBlobs(blobs: readonly Descriptor[]): Promise<void> {
    const { signal, book = new BlobLocations() } = this.#options;
    const each = new Map(blobs.filter(({ mediaType }) => !FOREIGN.test(mediaType)).map((blob) => [blob.digest, blob])).values();
    await forEachAbortOnError(each, PARALLEL_BLOBS, signal, async (blob, either) => {
      const put = (mountFrom: readonly string[]): Promise<BlobOutcome> =>
        this.#to.putBlob(blob, this.#from.blob(blob, either), { mountFrom, signal: either });
      const outcome = await book.placing(blob.digest, this.#to.name, either, put);
      if (outcome === "sent") this.bytes += blob.size;
      if (outcome !== "present") this.isMended = true;
    });
  }
}
