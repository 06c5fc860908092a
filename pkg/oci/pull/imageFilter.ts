import { posix } from "node:path";
import type { Logger } from "pino";
import { RetryableError, TerminalError, wrapError } from "../../errors/errors.ts";
import { ContentError, RefusedError } from "../imageErrors.ts";
import type { ImageConfig } from "../manifest.ts";
import type { ImageRequirements } from "../policy/signaturePolicy.ts";
import { type Reference, referenceText } from "../reference.ts";
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
    return { filter: atOrBelow(filter ? filter(config, { text: referenceText(ref), isPinned: ref.digest !== undefined }).root : "") };
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
  const cause = new ContentError(message);
  throw isPinned ? new TerminalError("Blocked", message, { cause }) : new RetryableError("Retrying", message, { cause });
}
