import type { CatalogFailureReason } from "../api/clusterCatalog.ts";
import { messageOf, terminalIn } from "../errors/errors.ts";
import { ContentError } from "../oci/contentError.ts";
import { rejectionIn } from "../oci/policy/rejectedError.ts";
import { RegistryError } from "../oci/registryError.ts";
import { InvalidCatalogError } from "./load/loader.ts";
import { StoreFailedError } from "./steps/storeContent.ts";

/** Codes of connections that did not come about or broke. */
const NETWORK = /^(E(CONN|HOST|NET|PIPE|TIMEDOUT|AI_|PROTO)|UND_ERR_|UNABLE_TO_)|^ENOTFOUND$|CERT/;

/**
 * The class of a failed pass. Pure. Of a pull, what has no other class and was not refused by this machine is the registry's.
 *
 * | what ended it                                            | reason                                        |
 * | an error that is not tried again                         | blocked                                       |
 * | content that is not a valid catalog                      | content                                       |
 * | reading a catalog that took too long                     | timeout                                       |
 * | a disk that is full, or broken                           | storage                                       |
 * | a write to the API server                                | api                                           |
 * | an answer of the registry                                | unauthorized, not_found, rate_limited, registry |
 * | an image that is broken                                  | image                                         |
 * | an image that the signature policy does not let pass     | rejected                                      |
 * | a pull that took too long                                | timeout                                       |
 * | no connection to the registry                            | unreachable                                   |
 */
export function failureReason(error: unknown): CatalogFailureReason {
  if (terminalIn(error)) return "blocked";
  const text = messageOf(error);
  if (text.startsWith("error updating ")) return "api";
  if (rejectionIn(error)) return "rejected";
  const chain = [...causesOf(error)];
  if (chain.some((cause) => cause instanceof InvalidCatalogError)) return "content";
  const answer = chain.find((cause) => cause instanceof RegistryError);
  if (answer) return ofStatus(answer.status);
  if (chain.some((cause) => cause instanceof ContentError)) return "image";
  if (chain.some((cause) => cause.name === "TimeoutError")) return "timeout";
  if (chain.some((cause) => cause instanceof StoreFailedError)) return "storage";
  const codes = chain.flatMap((cause) => ("code" in cause ? [String(cause.code)] : []));
  if (codes.some((code) => NETWORK.test(code))) return "unreachable";
  return codes.length === 0 && text.startsWith("source catalog content: ") ? "registry" : "other";
}

function ofStatus(status: number): CatalogFailureReason {
  if (status === 401 || status === 403) return "unauthorized";
  if (status === 404) return "not_found";
  return status === 429 ? "rate_limited" : "registry";
}

function* causesOf(error: unknown): Generator<Error> {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    yield cause;
    if (cause instanceof AggregateError) for (const one of cause.errors) if (one instanceof Error) yield one;
  }
}
