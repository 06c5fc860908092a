import { newProblem } from "../api/problems.ts";
import { RetryableError } from "../errors/errors.ts";
import type { SignatureProblem } from "./signers/signatureProblem.ts";

/**
 * The image content is invalid, for example a malformed manifest or a truncated archive. Other pull
 * failures have external causes.
 */
export class ImageContentError extends Error {
  override readonly name: string = "ImageContentError";
}

/**
 * The image content is intact but rejected, because it exceeds a limit or is malicious. Retrying
 * does not help if the reference has a digest.
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
  /** @param why reason, beginning with the text of containers/image */
  constructor(why: string, { problems, ...options }: ErrorOptions & { readonly problems?: readonly SignatureProblem[] | undefined } = {}) {
    const message = `Source image rejected: ${why}`;
    super("Retrying", message, {
      ...options,
      problems: [newProblem("ImageRejected", { message, details: problems?.map((one) => ({ ...one })) })],
    });
  }
}

/** Returns the first RejectedError in the cause chain. */
export function findRejectedError(err: unknown): RejectedError | undefined {
  for (let e = err; e instanceof Error; e = e.cause) if (e instanceof RejectedError) return e;
  return undefined;
}

/** A location from which an image could not be pulled, and the reason. */
export interface FailedLocation {
  /** the reference at this location */
  readonly reference: string;
  readonly message: string;
  /** the objects of the cluster that configure the location; undefined for files and the source */
  readonly from?: string | undefined;
}

/** An image could not be pulled from any location. The cause is the failure of the last one. */
export class LocationsError extends Error {
  /** in the order of the attempts */
  readonly locations: readonly FailedLocation[];

  constructor(message: string, locations: readonly FailedLocation[], options: ErrorOptions) {
    super(message, options);
    this.locations = locations;
  }
}

/** Returns the locations of the first LocationsError in the cause chain; empty if it has none. */
export function listFailedLocations(err: unknown): FailedLocation[] {
  for (let e = err; e instanceof Error; e = e.cause) if (e instanceof LocationsError) return [...e.locations];
  return [];
}
