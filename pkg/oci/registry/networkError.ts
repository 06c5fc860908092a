/** Codes of failures that another try may cure. */
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
/** Codes of connections, responses and bodies that did not come in time. */
const SILENCE = new Set(["UND_ERR_CONNECT_TIMEOUT", "UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"]);
/** What is wrong with a certificate, by OpenSSL's code, in Go's words and with what helps; Node's own words are about Node's command line. */
const UNTRUSTED =
  "x509: certificate signed by unknown authority; put its authority into the folder of authorities, see the flags ending in -cas-dir";
const CERTIFICATE = new Map([
  ["DEPTH_ZERO_SELF_SIGNED_CERT", UNTRUSTED],
  ["SELF_SIGNED_CERT_IN_CHAIN", UNTRUSTED],
  ["UNABLE_TO_GET_ISSUER_CERT", UNTRUSTED],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", UNTRUSTED],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", UNTRUSTED],
  ["CERT_HAS_EXPIRED", "x509: certificate has expired or is not yet valid"],
  ["CERT_NOT_YET_VALID", "x509: certificate has expired or is not yet valid"],
]);
/** What OpenSSL says when the other side does not speak TLS. */
const NO_TLS = /wrong version number|packet length too long|http request|unexpected message/i;

/** Whether a failed request may succeed when it is sent again. */
export function isTransient(err: unknown): boolean {
  return errorsIn(err).some((e) => e.code !== undefined && TRANSIENT.has(e.code));
}

/** A server sent too little of a body in too long a time. */
export class TrickleError extends Error {
  constructor(bytes: number, ms: number) {
    super(`less than ${bytes} bytes within ${ms / 1000} s`);
    this.name = new.target.name;
  }
}

/** The bytes of a blob cannot be had from where it is, retries included. */
export class FetchError extends Error {}

/** Whether something failed because a blob cannot be had from where it is: to send it again does not help. */
export function isFetchFailure(err: unknown): boolean {
  return errorsIn(err).some((e) => e instanceof FetchError);
}

/** Whether a request failed because the server sent nothing, or next to nothing, in time. */
export function isSilence(err: unknown): boolean {
  return errorsIn(err).some((e) => e instanceof TrickleError || (e.code !== undefined && SILENCE.has(e.code)));
}

/**
 * The error of a request that got no answer: `Get "https://…": …`, in one line, the same each time for the same cause. One that did not reach its
 * proxy says so as Go does: `Get "https://…": proxyconnect tcp: …`.
 * @param proxy through which the request went.
 */
export function failureOf(method: string, url: URL, err: unknown, proxy?: URL): Error {
  const shown = new URL(url);
  shown.username = "";
  shown.password = "";
  shown.search = "";
  const verb = method.charAt(0) + method.slice(1).toLowerCase();
  const isUnreachedProxy = proxy !== undefined && errorsIn(err).some(isConnecting);
  return new Error(`${verb} "${shown.href}": ${isUnreachedProxy ? "proxyconnect tcp: " : ""}${reasonOf(err)}`, { cause: err });
}

/** Behind a proxy that is the only place that this side connects to. */
function isConnecting({ code, syscall }: NodeJS.ErrnoException): boolean {
  return syscall === "connect" || syscall === "getaddrinfo" || code === "UND_ERR_CONNECT_TIMEOUT";
}

function reasonOf(err: unknown): string {
  const errors = errorsIn(err);
  const first = errors.find((e) => e.message !== "");
  if (!first) return String(err);
  if (errors.some((e) => e.code === "EPROTO" || NO_TLS.test(e.message))) return "http: server gave HTTP response to HTTPS client";
  const certificate = errors.flatMap(({ code = "" }) => CERTIFICATE.get(code) ?? [])[0];
  if (certificate !== undefined) return `tls: failed to verify certificate: ${certificate}`;
  return first.message.split("\n", 1)[0] ?? first.message;
}

/** `err` and what it was caused by, outermost first; the members of an AggregateError stand in its place. */
function errorsIn(err: unknown): NodeJS.ErrnoException[] {
  if (err instanceof AggregateError && err.errors.length > 0) return err.errors.flatMap(errorsIn);
  return err instanceof Error ? [err, ...errorsIn(err.cause)] : [];
}
