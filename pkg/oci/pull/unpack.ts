import { mkdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { forEachAbortOnError } from "../../async/concurrency.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { findRefusedError, ImageContentError, RefusedError } from "../imageErrors.ts";
import type { Limits } from "../limits.ts";
import {
  chooseImage,
  type Descriptor,
  type ImageConfig,
  type ImageManifest,
  parseConfig,
  parseManifest,
  type RequestedPlatform,
} from "../manifest.ts";
import { downloadBlob, readBlob } from "../registry/download.ts";
import type { FoundContent } from "../registry/imageSource.ts";
import { removeTree } from "./cache.ts";
import type { PathFilter } from "./imageFilter.ts";
import { applyLayer } from "./layers.ts";
import { Tree } from "./tree.ts";

/** The configuration of an image, and the layers to apply in order. */
export interface DescribedImage {
  readonly config: ImageConfig;
  readonly layers: readonly Descriptor[];
}

const PARALLEL_DOWNLOADS = 3;
/** Folder for directories that layers remove. Its short name keeps their paths short enough to be removed. */
const TRASH = "old";

/**
 * Returns the digest of the manifest for a platform: the image's own manifest, or the one in its
 * index.
 * @throws ImageContentError if the manifest is malformed or there is none for this platform
 */
export function selectInstanceDigest({ manifest }: FoundContent, platform: RequestedPlatform): string {
  const top = parseManifest(manifest.bytes, manifest.mediaType);
  return top.kind === "manifest" ? manifest.digest : chooseImage(top, platform).digest;
}

/**
 * Reads the image's manifest and configuration, through the index if there is one.
 * @throws ImageContentError if they are malformed or not for this platform; RefusedError if they
 * exceed the limits
 */
export async function describeImage(
  image: FoundContent,
  platform: RequestedPlatform,
  limits: Limits,
  signal: AbortSignal,
): Promise<DescribedImage> {
  const manifest = await imageManifest(image, platform, limits, signal);
  const { config, layers } = manifest;
  if (config.size > limits.configBytes) throw new RefusedError(`the image configuration is larger than ${limits.configBytes} bytes`);
  if (layers.length > limits.layers) throw new RefusedError(`the image has more than ${limits.layers} layers`);
  const size = layers.reduce((sum, layer) => sum + layer.size, 0);
  if (size > limits.compressedBytes)
    throw new RefusedError(`the compressed layers are larger than ${limits.compressedBytes} bytes in total`);
  return { config: parseConfig(await readBlob(image.repository, config, limits, signal)), layers };
}

async function imageManifest(
  image: FoundContent,
  platform: RequestedPlatform,
  limits: Limits,
  signal: AbortSignal,
): Promise<ImageManifest> {
  const top = parseManifest(image.manifest.bytes, image.manifest.mediaType);
  if (top.kind === "manifest") return top;
  const chosen = chooseImage(top, platform);
  if (chosen.size > limits.manifestBytes) throw new RefusedError(`an image manifest is larger than ${limits.manifestBytes} bytes`);
  const { bytes, mediaType } = await image.repository.manifest(chosen.digest, limits.manifestBytes, signal);
  if (bytes.byteLength !== chosen.size)
    throw new ImageContentError(`manifest ${chosen.digest} has ${bytes.byteLength} bytes, but the image index lists ${chosen.size}`);
  const manifest = parseManifest(bytes, mediaType);
  if (manifest.kind === "index") throw new ImageContentError("the image index refers to another index");
  return manifest;
}

/**
 * Downloads the layers into files of `folder`, several at a time. Existing layer files are complete
 * and kept.
 * @throws Error `reading blob DIGEST: …`
 */
export async function downloadLayers(
  image: FoundContent,
  layers: readonly Descriptor[],
  folder: string,
  limits: Limits,
  signal: AbortSignal,
): Promise<void> {
  const each = new Map(layers.map((layer) => [layer.digest, layer])).values();
  await forEachAbortOnError(each, PARALLEL_DOWNLOADS, signal, (layer, either) => downloadLayer(image, layer, folder, limits, either));
}

async function downloadLayer(image: FoundContent, layer: Descriptor, folder: string, limits: Limits, signal: AbortSignal): Promise<void> {
  const path = layerFile(folder, layer);
  if (await stat(path).catch(() => undefined)) return;
  const part = `${path}.part`;
  await rm(part, { force: true });
  try {
    await downloadBlob(image.repository, layer, part, limits, signal);
  } catch (err) {
    await rm(part, { force: true });
    throw new Error(`reading blob ${layer.digest}: ${getErrorMessage(err)}`, { cause: err });
  }
  await rename(part, path);
}

/**
 * Unpacks downloaded layers, in order, into the empty folder `content`. Files and directories
 * become read-only, except `content` itself. Removes each layer's file as soon as it is no longer
 * needed.
 * @throws RefusedError or Error `error applying layer[i]: …`
 */
export async function applyLayers(
  layers: readonly Descriptor[],
  folder: string,
  content: string,
  filter: PathFilter,
  limits: Limits,
  signal: AbortSignal,
): Promise<void> {
  const trash = join(folder, TRASH);
  const tree = new Tree(content, trash, limits.pathDepth);
  const usage = { bytes: 0, entries: 0 };
  for (const [index, layer] of layers.entries()) {
    const path = layerFile(folder, layer);
    await mkdir(trash);
    try {
      await applyLayer(path, { tree, filter, limits, usage }, signal);
    } catch (err) {
      signal.throwIfAborted();
      const text = `error applying layer[${index}]: ${getErrorMessage(err)}`;
      throw findRefusedError(err) ? new RefusedError(text, { cause: err }) : new Error(text, { cause: err });
    } finally {
      await removeTree(trash);
    }
    if (layers.findLastIndex((other) => other.digest === layer.digest) === index) await rm(path);
  }
  await tree.finish();
}

function layerFile(folder: string, layer: Descriptor): string {
  return join(folder, layer.digest.replace(":", "-"));
}
