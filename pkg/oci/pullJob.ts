import type { Logger } from "pino";
import { wrapError } from "../errors/errors.ts";
import type { CachedImage } from "./cache.ts";
import type { Located } from "./imageSource.ts";
import type { ImageConfig } from "./manifest.ts";
import { atOrBelow, type PathFilter } from "./pathFilter.ts";
import type { ImageRequirements } from "./policy/signaturePolicy.ts";
import { type Reference, referenceText } from "./reference.ts";

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
