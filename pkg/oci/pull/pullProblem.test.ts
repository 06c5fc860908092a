import { expect, test } from "vitest";
import { RetryableError, TerminalError, wrapError } from "../../errors/errors.ts";
import { ImageContentError } from "../imageErrors.ts";
import { RegistryError } from "../registry/registryError.ts";
import { getPullProblemType } from "./pullProblem.ts";

const refused = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
const late = new DOMException("The operation was aborted due to timeout", "TimeoutError");

test.for<[what: string, error: unknown, type: string]>([
  ["an image that does not exist", new Error("reading manifest", { cause: new RegistryError("manifest unknown", 404) }), "ImagePullFailed"],
  ["an image with an invalid layer", new ImageContentError("unexpected end of archive"), "ImagePullFailed"],
  ["an invalid reference", new TerminalError("Blocked", "invalid reference format"), "ImagePullFailed"],
  ["a full disk", Object.assign(new Error("no space left"), { code: "ENOSPC" }), "ImagePullFailed"],
  ["a value that is not an Error", "thrown", "ImagePullFailed"],
  ["credentials that the registry denies", new RegistryError("authentication required", 401), "RegistryUnavailable"],
  ["too many requests", new RegistryError("too many requests to registry", 429), "RegistryUnavailable"],
  ["a failing registry", new RegistryError("received unexpected HTTP status", 503), "RegistryUnavailable"],
  ["an unreachable registry", new Error("pinging", { cause: refused }), "RegistryUnavailable"],
  ["two unreachable addresses", new AggregateError([refused, refused]), "RegistryUnavailable"],
  ["a registry that does not respond in time", new RetryableError("Retrying", "did not end", { cause: late }), "RegistryUnavailable"],
])("getPullProblemType returns the problem type when a pull fails because of %s", ([, error, type]) => {
  expect(getPullProblemType(wrapError("error copying image: ", error))).toBe(type);
});
