/** Codes of retryable failures. */
const TRANSIENT = new Set([
  "ECONNRESET",
  "ECONNREFUSED",
  "EPIPE",
  "ETIMEDOUT",
  "EAI_AGAIN",
  "ENETUNREACH",
  "EHOSTUNREACH",
  "UND_ERR_SOCKET",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
]);
/** Codes of connection, response and body timeouts. */
const SILENCE = new Set(["UND_ERR_CONNECT_TIMEOUT", "UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"]);
/** Certificate errors by OpenSSL code, with the text of Go and advice. The texts of Node refer to its own command-line options. */
const UNTRUSTED =
  "x509: certificate signed by unknown authority; add its CA certificate to the CA folder, see the flags that end in -cas-dir";
const CERTIFICATE = new Map([
  ["DEPTH_ZERO_SELF_SIGNED_CERT", UNTRUSTED],
  ["SELF_SIGNED_CERT_IN_CHAIN", UNTRUSTED],
  ["UNABLE_TO_GET_ISSUER_CERT", UNTRUSTED],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", UNTRUSTED],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", UNTRUSTED],
  ["CERT_HAS_EXPIRED", "x509: certificate has expired or is not yet valid"],
  ["CERT_NOT_YET_VALID", "x509: certificate has expired or is not yet valid"],
]);
/** OpenSSL's errors if the other side does not use TLS. */
const NO_TLS = /wrong version number|packet length too long|http request|unexpected message/i;

/** Returns whether a failed request may succeed if it is sent again. */
export function isTransient(err: unknown): boolean {
  return listErrors(err).some((e) => e.code !== undefined && TRANSIENT.has(e.code));
}

/** A server sent a body too slowly. */
export class TrickleError extends Error {
  constructor(bytes: number, ms: number) {
    super(`response too slow: less than ${bytes} bytes within ${ms / 1000} s`);
    this.name = new.target.name;
  }
}

/** A blob cannot be read from its source, even after retries. */
export class FetchError extends Error {}

/**
 * Returns whether the cause is a blob that cannot be read from its source, so that sending it again
 * does not help.
 */
export function isFetchFailure(err: unknown): boolean {
  return listErrors(err).some((e) => e instanceof FetchError);
}

/** Returns whether a request failed because the server sent nothing, or almost nothing, in time. */
export function isSilence(err: unknown): boolean {
  return listErrors(err).some((e) => e instanceof TrickleError || (e.code !== undefined && SILENCE.has(e.code)));
}

/** A registry or its proxy did not respond. */
export class UnreachableError extends Error {}

/** The server does not use TLS. */
class PlainHttpError extends UnreachableError {}

/** Returns whether a request failed because the server does not use TLS. */
export function isPlainHttp(err: unknown): boolean {
  return listErrors(err).some((e) => e instanceof PlainHttpError);
}

/**
 * Returns the error of a request without a response: `Get "https://…": …`, on one line, with the same text for the same cause. If the proxy is
 * unreachable, uses the format of Go: `Get "https://…": proxyconnect tcp: …`.
 * @param proxy proxy of the request
 */
export function createRequestError(method: string, url: URL, err: unknown, proxy?: URL): UnreachableError {
  const shown = new URL(url);
  shown.username = "";
  shown.password = "";
  shown.search = "";
  const verb = method.charAt(0) + method.slice(1).toLowerCase();
  const errors = listErrors(err);
  const isUnreachedProxy = proxy !== undefined && errors.some(isConnecting);
  const RequestError = lacksTls(errors) ? PlainHttpError : UnreachableError;
  return new RequestError(`${verb} "${shown.href}": ${isUnreachedProxy ? "proxyconnect tcp: " : ""}${describeReason(err)}`, {
    cause: err,
  });
}

/** With a proxy, the client connects only to the proxy. */
function isConnecting({ code, syscall }: NodeJS.ErrnoException): boolean {
  return syscall === "connect" || syscall === "getaddrinfo" || code === "UND_ERR_CONNECT_TIMEOUT";
}

function describeReason(err: unknown): string {
  const errors = listErrors(err);
  const first = errors.find((e) => e.message !== "");
  if (!first) return String(err);
  if (lacksTls(errors)) return "http: server gave HTTP response to HTTPS client";
  const certificate = errors.flatMap(({ code = "" }) => CERTIFICATE.get(code) ?? [])[0];
  if (certificate !== undefined) return `tls: failed to verify certificate: ${certificate}`;
  return first.message.split("\n", 1)[0] ?? first.message;
}

function lacksTls(errors: readonly NodeJS.ErrnoException[]): boolean {
  return errors.some((e) => e.code === "EPROTO" || NO_TLS.test(e.message));
}

/** Returns `err` and its causes, outermost first; an AggregateError is replaced with its members. */
function listErrors(err: unknown): NodeJS.ErrnoException[] {
  if (err instanceof AggregateError && err.errors.length > 0) return err.errors.flatMap(listErrors);
  return err instanceof Error ? [err, ...listErrors(err.cause)] : [];
}
