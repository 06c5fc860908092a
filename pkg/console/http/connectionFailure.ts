import type { ConnectionFailure } from "../../consoleapi/live.ts";
import { KubeError, NoCredential } from "../../kube/errors.ts";

/** Codes of Node.js for a certificate that is not valid for the API server. */
const CERTIFICATE = /^(CERT_\w+|DEPTH_ZERO\w*|SELF_SIGNED\w*|UNABLE_TO\w*|ERR_TLS_\w+)$/;
/** Codes of Node.js and undici for a lost connection. Excludes those of files, such as ENOSPC. */
const CONNECTION = /^(UND_ERR_\w+|ERR_HTTP2_\w+|ECONN\w+|EPIPE|ENOTFOUND|EAI_\w+|ETIMEDOUT|EHOST\w+|ENET\w+)$/;

/** Returns why a request did not reach the API server, or why it answered with an error, by the first cause that determines it. */
export function classifyConnectionFailure(err: unknown): ConnectionFailure {
  for (let e = err; e instanceof Error; e = e.cause) {
    const failure = findConnectionFailure(e);
    if (failure) return failure;
    if (e instanceof KubeError && e.status === 401) return "credentials";
  }
  return "errors";
}

/** Returns why a request did not reach the API server, regardless of the causes of the error. Undefined for all other errors. */
export function findConnectionFailure(err: Error): Exclude<ConnectionFailure, "errors"> | undefined {
  if (err instanceof NoCredential) return "credentials";
  if (!("code" in err) || typeof err.code !== "string") return undefined;
  if (CERTIFICATE.test(err.code)) return "certificate";
  return CONNECTION.test(err.code) ? "unreachable" : undefined;
}
