import { newProblem } from "../api/problems.ts";
import { RetryableError } from "../errors/errors.ts";

/**
 * What the image itself holds is broken: a manifest that is none, an archive that ends too early. What else fails in a pull is an error of
 * the world around it.
 */
export class ImageContentError extends Error {
  override readonly name: string = "ImageContentError";
}

/** What the image holds is whole, but refused: beyond a limit, or hostile. An image by digest stays refused for ever. */
export class RefusedError extends ImageContentError {
  override readonly name = "RefusedError";
}

/** The first RefusedError in the cause chain. */
export function refusalIn(err: unknown): RefusedError | undefined {
  for (let e = err; e instanceof Error; e = e.cause) if (e instanceof RefusedError) return e;
  return undefined;
}

/** The signature policy does not let an image pass. Time may help: a signature may still be pushed, and the policy may change. */
export class RejectedError extends RetryableError {
  /** @param why in the words of containers/image, which come first */
  constructor(why: string, options?: ErrorOptions) {
    const message = `Source image rejected: ${why}`;
    super("Retrying", message, { ...options, problems: [newProblem("ImageRejected", { message })] });
  }
}

/** The first RejectedError in the cause chain. */
export function rejectionIn(err: unknown): RejectedError | undefined {
  for (let e = err; e instanceof Error; e = e.cause) if (e instanceof RejectedError) return e;
  return undefined;
}
