import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { compareText } from "../../text/compare.ts";
import { computeDigest } from "../digest.ts";
import { type Descriptor, MediaType } from "../manifest.ts";
import type { FetchedManifest } from "../registry/repository.ts";
import { type ArchivedFile, createTarStream, LAYER_GZIP_LEVEL } from "../store/layerArchive.ts";
import type { LayoutStore } from "../store/layoutStore.ts";

/**
 * Returns the configuration of a single-layer image that contains only data. The format requires a
 * platform, but clients that only unpack the content accept it on any platform.
 * @param diffId digest of the layer before compression
 */
export function buildImageConfig(labels: Readonly<Record<string, string>>, diffId: string): object {
  return {
    architecture: "amd64",
    os: "linux",
    created: "1970-01-01T00:00:00Z",
    config: { Labels: Object.fromEntries(Object.entries(labels).sort(([a], [b]) => compareText(a, b))) },
    rootfs: { type: "layers", diff_ids: [diffId] },
  };
}

/** The content of an image with one layer. */
export interface ImageParts {
  readonly files: readonly ArchivedFile[];
  readonly labels: Readonly<Record<string, string>>;
  /** annotations of the manifest */
  readonly annotations: Readonly<Record<string, string>>;
}

/** An image in a layout. */
export interface BuiltImage {
  readonly manifest: FetchedManifest;
  readonly layer: Descriptor;
}

/** The position of the operating system in gzip's header, and the value for unknown. */
const GZIP_OS = { at: 9, unknown: 255 };

/**
 * Builds a single-layer image in a layout, under `tag`. The same files, labels and annotations
 * always have the same digest: the image contains no time, user or host. Reads one file at a time,
 * and never a whole file into memory.
 *
 * One image serves all platforms, because it contains no programs. An index would list the same
 * layer for each platform, and clients that only unpack the image do not need it.
 */
export async function buildImage(layout: LayoutStore, tag: string, parts: ImageParts, signal: AbortSignal): Promise<BuiltImage> {
  const { layer, diffId } = await writeLayer(layout, parts.files, signal);
  const config = Buffer.from(JSON.stringify(buildImageConfig(parts.labels, diffId)));
  const described = { mediaType: MediaType.ociConfig, digest: computeDigest(config), size: config.byteLength };
  // oxlint-disable-next-line require-await -- the bytes of a blob are yielded sequentially
  await layout.putBlob(
    described,
    async function* () {
      yield config;
    },
    { signal },
  );
  const annotations = Object.entries(parts.annotations).sort(([a], [b]) => compareText(a, b));
  const body = {
    schemaVersion: 2,
    mediaType: MediaType.ociManifest,
    config: described,
    layers: [layer],
    ...(annotations.length === 0 ? {} : { annotations: Object.fromEntries(annotations) }),
  };
  const bytes = Buffer.from(JSON.stringify(body));
  const manifest = { bytes, mediaType: MediaType.ociManifest, digest: computeDigest(bytes) };
  await layout.putManifest(manifest, tag, signal);
  return { manifest, layer };
}

async function writeLayer(
  layout: LayoutStore,
  files: readonly ArchivedFile[],
  signal: AbortSignal,
): Promise<{ layer: Descriptor; diffId: string }> {
  const plain = createHash("sha256");
  const packed = createHash("sha256");
  let size = 0;
  const part = layout.partFile();
  const hashed = async function* (chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      plain.update(chunk);
      yield chunk;
    }
  };
  const measured = async function* (chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      const at = GZIP_OS.at - size;
      if (at >= 0 && at < chunk.byteLength) chunk[at] = GZIP_OS.unknown;
      size += chunk.byteLength;
      packed.update(chunk);
      yield chunk;
    }
  };
  try {
    await pipeline(createTarStream(files), hashed, createGzip({ level: LAYER_GZIP_LEVEL }), measured, createWriteStream(part), { signal });
    const digest = `sha256:${packed.digest("hex")}`;
    await layout.adopt(part, digest);
    return { layer: { mediaType: `${MediaType.ociLayer}+gzip`, digest, size }, diffId: `sha256:${plain.digest("hex")}` };
  } finally {
    await rm(part, { force: true });
  }
}
