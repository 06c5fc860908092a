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
/** What OpenSSL says when the other side does not speak TLS. */
const NO_TLS = /wrong version number|packet length too long|http request|unexpected message/i;

/** Whether a failed request may succeed when it is sent again. */
export function isTransient(err: unknown): boolean {
  return errorsIn(err).some((e) => e.code !== undefined && TRANSIENT.has(e.code));
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
  return first.message.split("\n", 1)[0] ?? first.message;
}

/** `err` and what it was caused by, outermost first; the members of an AggregateError stand in its place. */
function errorsIn(err: unknown): NodeJS.ErrnoException[] {
  if (err instanceof AggregateError && err.errors.length > 0) return err.errors.flatMap(errorsIn);
  return err instanceof Error ? [err, ...errorsIn(err.cause)] : [];
}
