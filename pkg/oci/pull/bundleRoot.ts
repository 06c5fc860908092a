import { MEDIA_TYPE, MEDIA_TYPE_KEY, unsupportedMediaType } from "../../bundle/annotations.ts";
import { RetryableError, TerminalError } from "../../errors/errors.ts";
import type { ImageConfig } from "../manifest.ts";
import { type AskedImage, CONFIG_DIR_LABEL } from "./imageFilter.ts";

/**
 * All of a bundle image: a filter for `Puller.pull` that refuses, before a layer is downloaded, an image that says it is something else. Labels that
 * are missing say nothing.
 * @param asked by digest the image stays what it is, by tag the next image may be a bundle
 * @throws TerminalError or RetryableError that names the image and the label
 */
export function bundleRoot({ labels }: Pick<ImageConfig, "labels">, { text, isPinned }: AskedImage): { root: string } {
  const mediaType = labels[MEDIA_TYPE_KEY] ?? "";
  const isCatalog = mediaType === "" && labels[CONFIG_DIR_LABEL] !== undefined;
  if (mediaType === MEDIA_TYPE || (mediaType === "" && !isCatalog)) return { root: "" };
  const why = isCatalog
    ? `is a catalog and no bundle, as its label ${CONFIG_DIR_LABEL} says: a ClusterCatalog serves it, and bundles are installed from that`
    : `is refused for its label ${MEDIA_TYPE_KEY}: ${unsupportedMediaType(mediaType)}`;
  const message = `image ${text} ${why}`;
  throw isPinned ? new TerminalError("Blocked", message) : new RetryableError("Retrying", message);
}
