import { newProblem } from "../api/problems.ts";
import { RetryableError } from "../errors/errors.ts";

/**
 * The content of the image is invalid, for example a malformed manifest or a truncated archive.
 * Other failures of a pull have external causes.
 */
export class ImageContentError extends Error {
  override readonly name: string = "ImageContentError";
}

/**
 * The content of the image is intact but rejected: beyond a limit, or malicious. An image by digest
 * remains rejected.
 */
export class RefusedError extends ImageContentError {
  override readonly name = "RefusedError";
}

/** Returns the first RefusedError in the cause chain. */
export function findRefusedError(err: unknown): RefusedError | undefined {
  for (let e = err; e instanceof Error; e = e.cause) if (e instanceof RefusedError) return e;
  return undefined;
}

/**
 * The signature policy rejects an image. Retryable: a signature may be pushed later, and the policy
 * may change.
 */
export class RejectedError extends RetryableError {
  /** @param why text of containers/image, which comes first */
  constructor(why: string, options?: ErrorOptions) {
    const message = `Source image rejected: ${why}`;
    super("Retrying", message, { ...options, problems: [newProblem("ImageRejected", { message })] });
  }
}

/** Returns the first RejectedError in the cause chain. */
export function findRejectedError(err: unknown): RejectedError | undefined {
  for (let e = err; e instanceof Error; e = e.cause) if (e instanceof RejectedError) return e;
  return undefined;
}
