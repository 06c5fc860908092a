/** The headers of a request that the guards check. */
export interface GuardedRequest {
  readonly method: string;
  /** Whether the path belongs to the API. */
  readonly isApi: boolean;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** Value of `Sec-Fetch-Site`, which browsers set and scripts cannot change. */
  readonly fetchSite: string | undefined;
  readonly contentType: string | undefined;
}

/** Which hosts may serve the console. */
export interface HostPolicy {
  /** Accepted values of `Host`, in lower case, with the port; undefined accepts all. */
  readonly hosts: ReadonlySet<string> | undefined;
}

/**
 * Returns why a request must be rejected; undefined if it may come from a page of the console.
 * - `Host` must be an accepted name: a page whose DNS name was rebound to this address sends its own name.
 * - `Origin`, if present, must be the origin of the console.
 * - Browsers report requests of other sites in `Sec-Fetch-Site`. Links of other sites may open pages, but nothing may read the API.
 * - Bodies must be JSON, which pages of other origins cannot send without permission.
 */
export function findForgery(
  { method, isApi, host, origin, fetchSite, contentType }: GuardedRequest,
  { hosts }: HostPolicy,
): string | undefined {
  const name = host?.toLowerCase();
  if (name === undefined || name === "") return "the request has no Host header";
  if (hosts && !hosts.has(name)) return "the Host header does not name this console";
  if (origin !== undefined && !isSameOrigin(origin, name)) return "the request comes from another origin";
  const isRead = method === "GET" || method === "HEAD";
  if ((isApi || !isRead) && fetchSite !== undefined && fetchSite !== "same-origin") return "the request comes from another site";
  if (!isRead && !/^application\/json *(;|$)/i.test(contentType ?? "")) return "the body must have content type application/json";
  return undefined;
}

/** Whether a path belongs to the API. */
export function isApiPath(path: string): boolean {
  return path === "/api" || path.startsWith("/api/") || path.startsWith("/api?");
}

/** Whether an origin has the host. The scheme is not compared, because a proxy in front of the console may terminate TLS. */
function isSameOrigin(origin: string, host: string): boolean {
  const parsed = URL.parse(origin);
  return (
    parsed !== null &&
    (parsed.protocol === "http:" || parsed.protocol === "https:") &&
    parsed.host === URL.parse(`${parsed.protocol}//${host}`)?.host
  );
}

/** Returns the accepted values of `Host` for a server on the loopback interface. */
export function listLoopbackHosts(port: number): ReadonlySet<string> {
  return new Set(["127.0.0.1", "localhost", "[::1]"].flatMap((name) => [`${name}:${port}`, ...(port === 80 ? [name] : [])]));
}
