import type { CatalogFailureReason } from "../api/clusterCatalog.ts";
import type { ProblemType } from "../api/problemTypes.ts";
import { UpdateError } from "../controller/statusWriter.ts";
import { findTerminalError, ReconcileError, RetryableError, wrapError } from "../errors/errors.ts";
import { findRejectedError, ImageContentError } from "../oci/imageErrors.ts";
import { causesOf, isUnreachable } from "../oci/pull/pullProblem.ts";
import { RegistryError } from "../oci/registry/registryError.ts";
import { InvalidCatalogError } from "./load/loader.ts";

/** The image of a catalog could not be resolved or pulled. Retryable if the cause is retryable. */
export class SourceError extends ReconcileError {
  readonly retry: boolean;

  constructor(cause: unknown) {
    const { reason, message, retry } = wrapError("source catalog content: ", cause);
    super(reason, message, { cause });
    this.retry = retry;
  }
}

/** The content of a catalog could not be read or stored, see the cause. */
export class StoreFailedError extends RetryableError {
  override readonly name = "StoreFailedError";
}

/**
 * Classifies the failure of a reconcile. Pure. Pull errors that match no row and are not local are
 * classified as registry errors.
 *
 * | cause                                      | reason                                          |
 * | a terminal error                           | blocked                                         |
 * | content that is not a valid catalog        | content                                         |
 * | reading a catalog took too long            | timeout                                         |
 * | a full or broken disk                      | storage                                         |
 * | a write to the API server                  | api                                             |
 * | a response of the registry                 | unauthorized, not_found, rate_limited, registry |
 * | an invalid image                           | image                                           |
 * | an image that the signature policy rejects | rejected                                        |
 * | a pull took too long                       | timeout                                         |
 * | a failed connection to the registry        | unreachable                                     |
 */
export function getFailureReason(error: unknown): CatalogFailureReason {
  if (findTerminalError(error)) return "blocked";
  const chain = [...causesOf(error)];
  if (chain.some((cause) => cause instanceof UpdateError)) return "api";
  if (findRejectedError(error)) return "rejected";
  if (chain.some((cause) => cause instanceof InvalidCatalogError)) return "content";
  const response = chain.find((cause) => cause instanceof RegistryError);
  if (response) return ofStatus(response.status);
  if (chain.some((cause) => cause instanceof ImageContentError)) return "image";
  if (chain.some((cause) => cause.name === "TimeoutError")) return "timeout";
  if (chain.some((cause) => cause instanceof StoreFailedError)) return "storage";
  if (isUnreachable(chain)) return "unreachable";
  const hasCode = chain.some((cause) => "code" in cause);
  return !hasCode && chain.some((cause) => cause instanceof SourceError) ? "registry" : "other";
}

function ofStatus(status: number): CatalogFailureReason {
  if (status === 401 || status === 403) return "unauthorized";
  if (status === 404) return "not_found";
  return status === 429 ? "rate_limited" : "registry";
}

/**
 * Returns the type of the problem that a failed reconcile reports, if the error does not specify
 * one.
 */
export function getProblemType(error: unknown): ProblemType {
  return PROBLEM_OF_REASON[getFailureReason(error)];
}

const PROBLEM_OF_REASON: Readonly<Record<CatalogFailureReason, ProblemType>> = {
  blocked: "InvalidSpec",
  unauthorized: "RegistryUnavailable",
  not_found: "ImagePullFailed",
  rate_limited: "RegistryUnavailable",
  registry: "RegistryUnavailable",
  unreachable: "RegistryUnavailable",
  timeout: "RegistryUnavailable",
  image: "ImagePullFailed",
  rejected: "ImageRejected",
  content: "CatalogInvalid",
  storage: "StorageFailed",
  api: "ReconcileFailed",
  other: "ReconcileFailed",
};
