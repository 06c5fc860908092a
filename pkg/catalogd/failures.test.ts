import { expect, test } from "vitest";
import { CATALOG_FAILURE_REASONS } from "../api/clusterCatalog.ts";
import { UpdateError } from "../controller/statusWriter.ts";
import { RetryableError, TerminalError, wrapError } from "../errors/errors.ts";
import { ImageContentError, RefusedError, RejectedError } from "../oci/imageErrors.ts";
import type { ImageConfig } from "../oci/manifest.ts";
import { findCatalogRoot, type RequestedImageRef } from "../oci/pull/imageFilter.ts";
import { RegistryError } from "../oci/registry/registryError.ts";
import { getFailureReason, SourceError, StoreFailedError } from "./failures.ts";
import { InvalidCatalogError } from "./load/loader.ts";

const pulling = (err: unknown): Error => new SourceError(wrapError("error copying image: ", err));
const storing = (cause: unknown): Error =>
  new StoreFailedError("Retrying", "error storing fbc: error walking FBC root: a.yaml: broken", { cause });
const refused = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
const late = new DOMException("The operation was aborted due to timeout", "TimeoutError");

/** Returns the error that a function throws. */
function thrownBy(run: () => unknown): unknown {
  try {
    return run();
  } catch (err) {
    return err;
  }
}
const CONFIG = { labels: {} } as unknown as ImageConfig;

const CASES: [what: string, error: unknown, reason: string][] = [
  ["an invalid reference", pulling(new TerminalError("Blocked", "invalid reference format")), "blocked"],
  ["a wrong password", pulling(new RegistryError("authentication required", 401)), "unauthorized"],
  ["a missing permission", pulling(new RegistryError("denied", 403)), "unauthorized"],
  ["a missing image", pulling(new Error("reading manifest", { cause: new RegistryError("manifest unknown", 404) })), "not_found"],
  ["too many pulls", pulling(new RegistryError("too many requests to registry", 429)), "rate_limited"],
  ["a failing registry", pulling(new RegistryError("received unexpected HTTP status", 503)), "registry"],
  ["an unreachable registry", pulling(new Error("pinging", { cause: refused })), "unreachable"],
  ["two unreachable addresses of a registry", pulling(new AggregateError([refused, refused])), "unreachable"],
  ["a blob that does not match its digest", pulling(new Error("Digest did not match")), "registry"],
  ["a slow registry", pulling(new RetryableError("Retrying", "did not end", { cause: late })), "timeout"],
  ["an invalid layer", pulling(new ImageContentError("unexpected end of archive")), "image"],
  ["an image by tag that is too large", pulling(new RefusedError("too large")), "image"],
  [
    "an image by tag that is not a catalog",
    pulling(thrownBy(() => findCatalogRoot(CONFIG, { isPinned: false } as RequestedImageRef))),
    "image",
  ],
  ["an unsigned image", pulling(new RejectedError("A signature was required, but no signature exists")), "rejected"],
  ["an invalid document", storing(new InvalidCatalogError("a.yaml: broken")), "content"],
  ["a catalog that takes too long to read", storing(late), "timeout"],
  ["a full disk under the content", storing(Object.assign(new Error("no space left"), { code: "ENOSPC" })), "storage"],
  ["a failed write to the API server", new UpdateError("status", new Error("conflict")), "api"],
  ["a full disk", pulling(Object.assign(new Error("no space left"), { code: "ENOSPC" })), "other"],
  ["a thrown value that is not an Error", "thrown", "other"],
];

test.for(CASES)("getFailureReason classifies an error because of %s", ([, error, reason]) => {
  expect(getFailureReason(error)).toBe(reason);
});

test("every failure reason has a test case", () => {
  expect(new Set(CASES.map(([, , reason]) => reason))).toEqual(new Set(CATALOG_FAILURE_REASONS));
});
