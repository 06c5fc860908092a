import { ImageContentError } from "../imageErrors.ts";
import { type Descriptor, parseConfig, parseManifest } from "../manifest.ts";
import type { FetchedManifest, Referrer } from "../registry/repository.ts";

/**
 * Yields the bytes of a blob from byte `offset`; the same each time. Bytes from offset 0 are
 * verified against its descriptor while they are read.
 */
export type BlobBytes = (offset: number) => AsyncIterable<Uint8Array>;

/**
 * How a blob was stored: it existed, the registry mounted it from another repository, or it was
 * sent.
 */
export type BlobOutcome = "present" | "mounted" | "sent";

/** One repository or layout to read images from. */
export interface ImageReader {
  /** for messages, for example "registry.example.com/team/app" */
  readonly name: string;
  /**
   * Returns a manifest or index by tag or digest; "" means the only one of a layout. @throws Error
   * that describes the missing image.
   */
  manifest(reference: string, signal: AbortSignal): Promise<FetchedManifest>;
  /** Like `manifest`, but returns undefined if it does not exist. */
  find(reference: string, signal: AbortSignal): Promise<FetchedManifest | undefined>;
  blob(blob: Descriptor, signal: AbortSignal): BlobBytes;
  /** Returns the referrers of a manifest; absent if referrers are not supported. */
  referrers?(digest: string, signal: AbortSignal): Promise<Referrer[]>;
}

/** One repository or layout to write images to. */
export interface ImageWriter {
  /** for messages, for example "registry.example.com/team/app" */
  readonly name: string;
  /**
   * Whether an existing manifest implies that all referenced content exists, as registries require.
   * A folder can lose files.
   */
  readonly isWhole: boolean;
  /** Returns the digest of the content at a tag or digest, if it exists. */
  has(reference: string, signal: AbortSignal): Promise<string | undefined>;
  /**
   * Stores a blob unless it exists. @param mountFrom paths of repositories in the same registry
   * that have it.
   */
  putBlob(blob: Descriptor, bytes: BlobBytes, o: { mountFrom?: readonly string[]; signal: AbortSignal }): Promise<BlobOutcome>;
  /**
   * Stores the exact bytes of a manifest or index under its digest and, if given, a tag. The
   * content that it references must exist.
   */
  putManifest(manifest: FetchedManifest, tag: string | undefined, signal: AbortSignal): Promise<void>;
  /** As in `ImageReader`. */
  referrers?(digest: string, signal: AbortSignal): Promise<Referrer[]>;
}

const MAX_CONFIG_BYTES = 4 * 1024 * 1024;

/**
 * Returns the labels of an image. For a multi-platform image, returns the labels of the first
 * platform, because all platforms have the same. @throws ImageContentError if the labels cannot be
 * read.
 */
export async function readImageLabels(
  from: ImageReader,
  top: FetchedManifest,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  const parsed = parseManifest(top.bytes, top.mediaType);
  if (parsed.kind === "index") {
    const [first] = parsed.manifests;
    if (!first) throw new ImageContentError("the image index contains no images");
    return readImageLabels(from, await from.manifest(first.digest, signal), signal);
  }
  const { config } = parsed;
  if (config.size > MAX_CONFIG_BYTES) throw new ImageContentError(`the image configuration is larger than ${MAX_CONFIG_BYTES} bytes`);
  const chunks: Uint8Array[] = [];
  for await (const chunk of from.blob(config, signal)(0)) chunks.push(chunk);
  return parseConfig(Buffer.concat(chunks)).labels;
}
