import { ContentError } from "../contentError.ts";
import { parseConfig, parseManifest } from "../manifest.ts";
import type { FetchedManifest } from "../registry.ts";
import type { ImageReader } from "./imageStore.ts";

const MAX_CONFIG_BYTES = 4 * 1024 * 1024;

/** The labels of an image; of one for several platforms those of the first, which all have alike. @throws ContentError where there are none to read. */
export async function imageLabels(from: ImageReader, top: FetchedManifest, signal: AbortSignal): Promise<Readonly<Record<string, string>>> {
  const parsed = parseManifest(top.bytes, top.mediaType);
  if (parsed.kind === "index") {
    const [first] = parsed.manifests;
    if (!first) throw new ContentError("the image index names no image");
    return imageLabels(from, await from.manifest(first.digest, signal), signal);
  }
  const { config } = parsed;
  if (config.size > MAX_CONFIG_BYTES) throw new ContentError(`the image configuration has more than ${MAX_CONFIG_BYTES} bytes`);
  const chunks: Uint8Array[] = [];
  for await (const chunk of from.blob(config, signal)(0)) chunks.push(chunk);
  return parseConfig(Buffer.concat(chunks)).labels;
}
