import { posix } from "node:path";
import type { Logger } from "pino";
import { MEDIA_TYPE, MEDIA_TYPE_KEY, unsupportedMediaType } from "../../bundle/annotations.ts";
import { RetryableError, TerminalError, wrapError } from "../../errors/errors.ts";
import { ImageContentError, RefusedError } from "../imageErrors.ts";
import type { ImageConfig } from "../manifest.ts";
import type { ImageRequirements } from "../policy/signaturePolicy.ts";
import { formatReference, type Reference } from "../reference.ts";
import type { Located } from "../registry/imageSource.ts";
import type { CachedImage } from "./cache.ts";

/** Which part of an image is unpacked. */
export interface PathFilter {
  /** the directory that is kept, without a leading slash; "" is the whole image */
  readonly root: string;
  /** Whether an entry of this name, as the archive has it, lies at or below the root. */
  keeps(name: string): boolean;
  /** Whether removing this path (relative, clean) changes what is kept: it lies at, below or above the root. */
  touches(path: string): boolean;
}

/**
 * Keeps what is at or below `directory`. Names are cleaned and a leading slash does not count, on both sides; what is kept stays at its
 * place in the image.
 */
export function atOrBelow(directory: string): PathFilter {
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

/** An image as it was asked for. */
export interface AskedImage {
  /** for messages */
  readonly text: string;
  /** Whether what it names can never be another image. */
  readonly isPinned: boolean;
}

/** Which directory of an image is wanted. It may throw to refuse the image. */
export type ImageFilter = (config: ImageConfig, asked: AskedImage) => { readonly root: string };

/** What one pull is about. */
export interface PullJob {
  readonly owner: string;
  readonly ref: Reference;
  readonly digest: string;
  /** the name that the signature policy and the signatures are about */
  readonly identity: Reference;
  readonly requirements: ImageRequirements;
  /** where a tag was found */
  readonly located: Located | undefined;
  readonly filter: ImageFilter | undefined;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/** The part of an image the job wants, or what its filter threw instead. */
export function wantedPart({ filter, ref }: PullJob, config: ImageConfig): { filter: PathFilter } | { refused: unknown } {
  try {
    return { filter: atOrBelow(filter ? filter(config, { text: formatReference(ref), isPinned: ref.digest !== undefined }).root : "") };
  } catch (err) {
    return { refused: wrapError("error applying image: ", err) };
  }
}

/** Whether an unpacked image holds the part the job wants. @throws what its filter threw */
export function fits(job: PullJob, image: CachedImage): boolean {
  const part = wantedPart(job, image.stored.config);
  if ("refused" in part) throw part.refused;
  return part.filter.root === image.stored.root;
}

/** The label that says in which directory of a catalog image its file-based catalog lies. */
export const CONFIG_DIR_LABEL = "operators.operatorframework.io.index.configs.v1";

/**
 * The directory of a catalog image that holds its content: a filter for `Puller.pull`.
 * @param asked by digest the image can never get the label, by tag the next image may have it
 * @throws TerminalError or RetryableError `catalog image is missing the required label "…"`
 */
export function catalogRoot(config: ImageConfig, { isPinned }: AskedImage): { root: string } {
  const root = config.labels[CONFIG_DIR_LABEL];
  if (root !== undefined) return { root };
  const message = `catalog image is missing the required label "${CONFIG_DIR_LABEL}"`;
  const cause = new ImageContentError(message);
  throw isPinned ? new TerminalError("Blocked", message, { cause }) : new RetryableError("Retrying", message, { cause });
}

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
