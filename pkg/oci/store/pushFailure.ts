import { messageOf } from "../../errors/errors.ts";
import { nameOf, type Reference } from "../reference.ts";
import { RegistryError } from "../registryError.ts";

/** What helps, by the status of the answer. */
const ADVICE: Readonly<Record<number, (ref: Reference) => string>> = {
  401: ({ registry }) => `log in to ${registry} first, as with docker login or podman login`,
  403: ({ repository }) => `whoever is logged in needs the right to push to ${repository}`,
  404: ({ repository }) => `some registries want repository ${repository} to be made first`,
  405: ({ registry }) => `${registry} cannot be pushed to, as a registry that is a proxy for another one`,
  413: ({ registry }) => `${registry}, or a proxy before it, bounds what one request may bring`,
  429: ({ registry }) => `${registry} takes no more requests for now`,
};

const PLAIN_HTTP = "server gave HTTP response to HTTPS client";

/** The error of a push: what was being done to what, what the registry said, and what to do next. */
export function pushFailure(doing: string, ref: Reference, err: unknown): Error {
  const text = `${doing} ${nameOf(ref)}: ${messageOf(err)}`;
  if (!(err instanceof RegistryError))
    return new Error(text.endsWith(PLAIN_HTTP) ? `${text}; --insecure allows that` : text, { cause: err });
  const wait = err.retryAfterMs === undefined ? "" : `, and asks to wait ${Math.ceil(err.retryAfterMs / 1000)} s`;
  const advice = ADVICE[err.status]?.(ref);
  return new RegistryError(advice === undefined ? text : `${text}; ${advice}${wait}`, err.status, err.retryAfterMs);
}
