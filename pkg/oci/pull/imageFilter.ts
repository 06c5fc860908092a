import { posix } from "node:path";
import type { Logger } from "pino";
import { formatUnsupportedMediaType, MEDIA_TYPE, MEDIA_TYPE_KEY } from "../../bundle/annotations.ts";
import { RetryableError, TerminalError, wrapError } from "../../errors/errors.ts";
import { ImageContentError, RefusedError } from "../imageErrors.ts";
import type { ImageConfig } from "../manifest.ts";
import type { ImageRequirements } from "../policy/signaturePolicy.ts";
import { formatReference, type Reference } from "../reference.ts";
import type { Located } from "../registry/imageSource.ts";
import type { CachedImage } from "./cache.ts";

/** The part of an image to unpack. */
export interface PathFilter {
  /** the directory to keep, without a leading slash; "" for the whole image */
  readonly root: string;
  /** Returns whether an entry with this name, as in the archive, is at or below the root. */
  keeps(name: string): boolean;
  /** Returns whether removing this path (relative, clean) changes the kept part, because it is at, below or above the root. */
  touches(path: string): boolean;
}

/**
 * Keeps the content at or below `directory`. Names are cleaned and leading slashes ignored, on both
 * sides. Kept content stays at its path in the image.
 */
export function filterAtOrBelow(directory: string): PathFilter {
  const root = clean(directory);
  if (root === ".") return { root: "", keeps: () => true, touches: () => true };
  const within = (path: string, parent: string): boolean => path === parent || path.startsWith(`${parent}/`) || parent === "";
  return {
    root,
    keeps: (name) => {
      if (root === ".." || root.startsWith("../"))
        throw new RefusedError(`error getting relative path: Rel: can't make ${clean(name)} relative to ${root}`);
      return within(clean(name), root);
    },
    touches: (path) => within(path, root) || within(root, path),
  };
}

function clean(path: string): string {
  return posix.normalize(path.replace(/^\//, "")).replace(/(?<=.)\/$/, "");
}

/** A requested image. */
export interface RequestedImageRef {
  /** for messages */
  readonly text: string;
  /** Whether the reference has a digest, so that it always refers to the same image. */
  readonly isPinned: boolean;
}

/** Returns the directory of an image to unpack. May throw to reject the image. */
export type ImageFilter = (config: ImageConfig, requested: RequestedImageRef) => { readonly root: string };

/** Parameters of one pull. */
export interface PullJob {
  readonly owner: string;
  readonly ref: Reference;
  readonly digest: string;
  /** the reference to which the signature policy and the signatures apply */
  readonly identity: Reference;
  readonly requirements: ImageRequirements;
  /** the location of a resolved tag */
  readonly located: Located | undefined;
  readonly filter: ImageFilter | undefined;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/** Returns the requested part of an image, or the error of the filter. */
export function selectRequestedPart({ filter, ref }: PullJob, config: ImageConfig): { filter: PathFilter } | { refused: unknown } {
  try {
    return {
      filter: filterAtOrBelow(filter ? filter(config, { text: formatReference(ref), isPinned: ref.digest !== undefined }).root : ""),
    };
  } catch (err) {
    return { refused: wrapError("error applying image: ", err) };
  }
}

/** Returns whether an unpacked image contains the requested part. @throws the error of the filter */
export function fits(job: PullJob, image: CachedImage): boolean {
  const part = selectRequestedPart(job, image.stored.config);
  if ("refused" in part) throw part.refused;
  return part.filter.root === image.stored.root;
}

/** The label with the directory of the file-based catalog in a catalog image. */
export const CONFIG_DIR_LABEL = "operators.operatorframework.io.index.configs.v1";

/**
 * Filter for `Puller.pull`: returns the directory of a catalog image that contains its content.
 * @throws TerminalError `catalog image is missing the required label "…"` if the reference has a digest; RetryableError if it has a tag, because
 * the tag may move to an image with the label
 */
export function findCatalogRoot(config: ImageConfig, { isPinned }: RequestedImageRef): { root: string } {
  const root = config.labels[CONFIG_DIR_LABEL];
  if (root !== undefined) return { root };
  const message = `catalog image is missing the required label "${CONFIG_DIR_LABEL}"`;
  const cause = new ImageContentError(message);
  throw isPinned ? new TerminalError("Blocked", message, { cause }) : new RetryableError("Retrying", message, { cause });
}

/**
 * Filter for `Puller.pull`: keeps the whole bundle image, and rejects an image that is declared as
 * something else before any layer is downloaded. Accepts missing labels.
 * @throws TerminalError if the reference has a digest; RetryableError if it has a tag, because the tag may move to a bundle image
 */
export function findBundleRoot({ labels }: Pick<ImageConfig, "labels">, { text, isPinned }: RequestedImageRef): { root: string } {
  const mediaType = labels[MEDIA_TYPE_KEY] ?? "";
  const isCatalog = mediaType === "" && labels[CONFIG_DIR_LABEL] !== undefined;
  if (mediaType === MEDIA_TYPE || (mediaType === "" && !isCatalog)) return { root: "" };
  const why = isCatalog
    ? `is a catalog, not a bundle, according to its label ${CONFIG_DIR_LABEL}: create a ClusterCatalog for it, and install bundles from that catalog`
    : `is rejected because of its label ${MEDIA_TYPE_KEY}: ${formatUnsupportedMediaType(mediaType)}`;
  const message = `image ${text} ${why}`;
  throw isPinned ? new TerminalError("Blocked", message) : new RetryableError("Retrying", message);
}
