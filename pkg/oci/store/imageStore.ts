import { ImageContentError } from "../imageErrors.ts";
import { type Descriptor, parseConfig, parseManifest } from "../manifest.ts";
import type { FetchedManifest, Referrer } from "../registry/repository.ts";

/** The bytes of a blob from byte `offset` on; the same each time. Those from byte 0 on are checked against its descriptor as they are read. */
export type BlobBytes = (offset: number) => AsyncIterable<Uint8Array>;

/** What became of a blob: it was there, the registry took it from another repository of its own, or it was sent. */
export type BlobFate = "present" | "mounted" | "sent";

/** One repository, or one layout, to read images from. */
export interface ImageReader {
  /** for messages, such as "registry.example.com/team/app" */
  readonly name: string;
  /** A manifest or index by tag or digest; by "" the only one of a layout. @throws Error that says what there is not. */
  manifest(reference: string, signal: AbortSignal): Promise<FetchedManifest>;
  /** The same, undefined where there is none. */
  find(reference: string, signal: AbortSignal): Promise<FetchedManifest | undefined>;
  blob(blob: Descriptor, signal: AbortSignal): BlobBytes;
  /** What refers to a manifest; without it nothing is known to. */
  referrers?(digest: string, signal: AbortSignal): Promise<Referrer[]>;
}

/** One repository, or one layout, to write images to. */
export interface ImageWriter {
  /** for messages, such as "registry.example.com/team/app" */
  readonly name: string;
  /** Whether a manifest that is there has all that it names, as registries ask for. A folder can lose files. */
  readonly isWhole: boolean;
  /** The digest of what is there under a tag or digest. */
  has(reference: string, signal: AbortSignal): Promise<string | undefined>;
  /** Puts a blob there unless it is. @param mountFrom paths of repositories of the same registry that have it. */
  putBlob(blob: Descriptor, bytes: BlobBytes, o: { mountFrom?: readonly string[]; signal: AbortSignal }): Promise<BlobFate>;
  /** Puts a manifest or index there byte for byte, under its digest and, with a tag, under that too. What it names has to be there. */
  putManifest(manifest: FetchedManifest, tag: string | undefined, signal: AbortSignal): Promise<void>;
  /** As `ImageReader` has it. */
  referrers?(digest: string, signal: AbortSignal): Promise<Referrer[]>;
}

const MAX_CONFIG_BYTES = 4 * 1024 * 1024;

/** The labels of an image; of one for several platforms those of the first, which all have alike. @throws ImageContentError where there are none to read. */
export async function imageLabels(from: ImageReader, top: FetchedManifest, signal: AbortSignal): Promise<Readonly<Record<string, string>>> {
  const parsed = parseManifest(top.bytes, top.mediaType);
  if (parsed.kind === "index") {
    const [first] = parsed.manifests;
    if (!first) throw new ImageContentError("the image index names no image");
    return imageLabels(from, await from.manifest(first.digest, signal), signal);
  }
  const { config } = parsed;
  if (config.size > MAX_CONFIG_BYTES) throw new ImageContentError(`the image configuration has more than ${MAX_CONFIG_BYTES} bytes`);
  const chunks: Uint8Array[] = [];
  for await (const chunk of from.blob(config, signal)(0)) chunks.push(chunk);
  return parseConfig(Buffer.concat(chunks)).labels;
}
