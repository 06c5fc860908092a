import { IMAGE_REJECTED } from "../../api/events.ts";
import { RetryableError } from "../../errors/errors.ts";

/** The signature policy does not let an image pass. Time may help: a signature may still be pushed, and the policy may change. */
export class RejectedError extends RetryableError {
  /** @param why in the words of containers/image, which come first */
  constructor(why: string, options?: ErrorOptions) {
    super("Retrying", `${IMAGE_REJECTED}${why}`, options);
  }
}

/** The first RejectedError in the cause chain. */
export function rejectionIn(err: unknown): RejectedError | undefined {
  for (let e = err; e instanceof Error; e = e.cause) if (e instanceof RejectedError) return e;
  return undefined;
}
