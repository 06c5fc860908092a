import { getErrorMessage } from "../errors/errors.ts";
import { openConnections } from "../http/connections.ts";
import type { Connections, HttpResponse } from "../http/types.ts";
import type { Credentials, Endpoint, TlsMaterial } from "./credentials.ts";
import { NoCredential } from "./errors.ts";

/** Idle timeout, less than the 90 s of the API server. */
const KEEP_ALIVE_MS = 60_000;

/**
 * The two connection pools of an API server. A pool is replaced when its TLS material changes, and
 * the old one closes after its last request. The token pool uses HTTP/2, because drift detection
 * opens very many watches: 1,000 watches took 10 connections instead of 1,000, and a burst of 200
 * requests 117 ms instead of 364 ms. The pool of the kubeconfig user has few streams and uses
 * HTTP/1.1.
 */
class Pools {
  readonly credentials: Credentials;
  #user: Pool | undefined;
  #tokens: Pool | undefined;

  constructor(credentials: Credentials) {
    this.credentials = credentials;
  }

  forUser(endpoint: Endpoint): Connections {
    this.#user = refreshPool(this.#user, { tls: endpoint.tls, proxyUrl: endpoint.proxyUrl, http2: false });
    return this.#user.connections;
  }

  forTokens({ tls: { ca, servername, rejectUnauthorized }, proxyUrl }: Endpoint): Connections {
    const tls: TlsMaterial = {};
    if (ca !== undefined) tls.ca = ca;
    if (servername !== undefined) tls.servername = servername;
    if (rejectUnauthorized !== undefined) tls.rejectUnauthorized = rejectUnauthorized;
    this.#tokens = refreshPool(this.#tokens, { tls, proxyUrl, http2: true });
    return this.#tokens.connections;
  }

  async destroy(): Promise<void> {
    const pools = [this.#user, this.#tokens];
    this.#user = undefined;
    this.#tokens = undefined;
    for (const pool of pools) await pool?.connections.destroy();
  }
}

interface PoolInit {
  tls: TlsMaterial;
  proxyUrl: string | undefined;
  http2: boolean;
}

interface Pool extends PoolInit {
  connections: Connections;
}

function refreshPool(pool: Pool | undefined, init: PoolInit): Pool {
  if (pool && pool.proxyUrl === init.proxyUrl && sameTls(pool.tls, init.tls)) return pool;
  if (pool) void pool.connections.close();
  const { tls, proxyUrl: proxy, http2 } = init;
  return { ...init, connections: openConnections({ tls, proxy, http2, keepAliveMs: KEEP_ALIVE_MS }) };
}

function sameTls(a: TlsMaterial, b: TlsMaterial): boolean {
  if (a === b) return true;
  const text = (value: string | Buffer | undefined): string => (value === undefined ? "" : value.toString());
  return (
    text(a.ca) === text(b.ca) &&
    text(a.cert) === text(b.cert) &&
    text(a.key) === text(b.key) &&
    a.servername === b.servername &&
    a.rejectUnauthorized === b.rejectUnauthorized
  );
}

/**
 * Provides a bearer token for each request. `drop` is called with a token that the server rejected
 * (401).
 */
export interface TokenSource {
  (): Promise<string>;
  drop?: (token: string) => void;
}

/** The parts of a request in addition to method and path. */
export interface RequestInit {
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  signal?: AbortSignal | undefined;
  /** Maximum pause between two chunks of the response, in milliseconds. Default: two minutes. */
  bodyTimeoutMs?: number;
}

/** A finished request, for metrics: `code` is the status, or "<error>" without a response. */
export interface RequestObservation {
  method: string;
  code: string;
  host: string;
  durationMs: number;
}

/** Options of a transport and of all transports derived from it. */
export interface TransportOptions {
  userAgent?: string;
  observe?: (observation: RequestObservation) => void;
}

/** The headers of one attempt. `refused` is called after a 401 and returns whether to try again. */
interface Authorization {
  headers: Record<string, string>;
  refused(): boolean;
}

const HEADERS_TIMEOUT_MS = 75_000;
const BODY_TIMEOUT_MS = 120_000;
/**
 * Maximum number of retries after 429 with Retry-After (priority and fairness). Longer delays are
 * left to the caller.
 */
const THROTTLE_RETRIES = 3;
const MAX_THROTTLE_MS = 5_000;

/**
 * HTTP client for one API server with keep-alive pools; credentials provide TLS material and
 * current headers. Does not read or parse responses. Transports of `withToken` share a second pool
 * without a client certificate: the API server checks the certificate before the Authorization
 * header, so a request over a connection with a certificate would not use the identity of the
 * token.
 */
export class Transport {
  readonly #pools: Pools;
  readonly #options: TransportOptions;
  readonly #token: TokenSource | undefined;
  readonly #mayWrite: () => void | Promise<void>;

  private constructor(
    pools: Pools,
    options: TransportOptions,
    token?: TokenSource,
    mayWrite: () => void | Promise<void> = () => undefined,
  ) {
    this.#pools = pools;
    this.#options = options;
    this.#token = token;
    this.#mayWrite = mayWrite;
  }

  /** Creates a transport with the identity of the kubeconfig. */
  static of(credentials: Credentials, options: TransportOptions = {}): Transport {
    return new Transport(new Pools(credentials), options);
  }

  /**
   * Returns a transport for the same server and CA with another identity: every request has the
   * source's token and no credentials of the kubeconfig's user.
   */
  withToken(source: TokenSource): Transport {
    return new Transport(this.#pools, this.#options, source, this.#mayWrite);
  }

  /**
   * Returns a transport with the same identity and pools that calls `mayWrite` before it sends a
   * request other than GET or HEAD, and waits for it. If it throws, the request fails with its error.
   */
  guardedBy(mayWrite: () => void | Promise<void>): Transport {
    return new Transport(this.#pools, this.#options, this.#token, async () => {
      await mayWrite();
      await this.#mayWrite();
    });
  }

  /**
   * Sends a request. Retries once with new credentials after a 401, a few times after a 429 with a
   * short Retry-After, and once if the connection of a GET or an apply breaks before the response.
   * @param path absolute, already percent-encoded, for example
   * "/apis/olm.operatorframework.io/v1/clusterextensions".
   * @throws NoCredential Retrying if there is no credential; the error of the connection if there
   * is no response.
   */
  async request(method: string, path: string, init: RequestInit = {}): Promise<HttpResponse> {
    let reauthorized = false;
    let resent = false;
    for (let throttled = 0; ; ) {
      const endpoint = await this.#endpoint();
      const authorization = await this.#authorize(endpoint);
      let response: HttpResponse;
      try {
        response = await this.#send(endpoint, authorization, method, path, init);
      } catch (err) {
        if (resent || init.signal?.aborted || !isBrokenConnection(err) || !isRepeatable(method, init)) throw err;
        resent = true;
        continue;
      }
      if (response.statusCode === 401 && !reauthorized && authorization.refused()) {
        reauthorized = true;
        await response.body.dump();
        continue;
      }
      const waitMs = response.statusCode === 429 ? throttleMs(response.headers["retry-after"]) : undefined;
      if (waitMs !== undefined && throttled < THROTTLE_RETRIES) {
        throttled++;
        await response.body.dump();
        await sleep(waitMs, init.signal);
        continue;
      }
      return response;
    }
  }

  /**
   * Closes all connections of this transport and of those derived from it; requests in progress
   * fail.
   */
  async close(): Promise<void> {
    await this.#pools.destroy();
  }

  async #endpoint(): Promise<Endpoint> {
    try {
      return await this.#pools.credentials.endpoint();
    } catch (err) {
      throw new NoCredential("Retrying", `get credentials for the API server: ${getErrorMessage(err)}`, { cause: err });
    }
  }

  async #authorize(endpoint: Endpoint): Promise<Authorization> {
    const source = this.#token;
    if (!source) return { headers: endpoint.headers, refused: () => this.#pools.credentials.refused(endpoint) };
    let token: string;
    try {
      token = await source();
    } catch (err) {
      throw new NoCredential("Retrying", `get a token: ${getErrorMessage(err)}`, { cause: err });
    }
    const refused = (): boolean => {
      source.drop?.(token);
      return source.drop !== undefined;
    };
    return { headers: { authorization: `Bearer ${token}` }, refused };
  }

  async #send(endpoint: Endpoint, authorization: Authorization, method: string, path: string, init: RequestInit) {
    const url = new URL(endpoint.server + path);
    const headers: Record<string, string> = { accept: "application/json", ...init.headers, ...authorization.headers };
    if (this.#options.userAgent) headers["user-agent"] = this.#options.userAgent;
    const connections = this.#token ? this.#pools.forTokens(endpoint) : this.#pools.forUser(endpoint);
    const { body = null, signal, bodyTimeoutMs = BODY_TIMEOUT_MS } = init;
    if (method !== "GET" && method !== "HEAD") await this.#mayWrite();
    const started = performance.now();
    let code = "<error>";
    try {
      const request = { method, headers, body, bodyTimeoutMs, headersTimeoutMs: HEADERS_TIMEOUT_MS };
      const response = await (body === null || !this.#token
        ? connections.request(url, signal ? { ...request, signal } : request)
        : sendUnaborted(() => connections.request(url, request), signal));
      code = String(response.statusCode);
      return response;
    } finally {
      this.#options.observe?.({ method, code, host: url.host, durationMs: performance.now() - started });
    }
  }
}

/**
 * Sends a request that cannot be aborted. When `signal` aborts, the caller stops waiting, and the
 * response is discarded on arrival. Aborting an HTTP/2 request with a body makes Node reset the
 * stream in an endless loop, with full CPU load and growing memory (always reproducible with Node
 * 24.21, undici 8.12). Requests without a body are aborted normally.
 * @see https://github.com/nodejs/node/issues/52952
 */
async function sendUnaborted(send: () => Promise<HttpResponse>, signal: AbortSignal | undefined): Promise<HttpResponse> {
  signal?.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  const sent = send();
  try {
    return await Promise.race([sent, aborted.promise]);
  } catch (err) {
    if (signal?.aborted) void sent.then((response) => response.body.dump({ limit: Number.MAX_SAFE_INTEGER })).catch(() => undefined);
    throw err;
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}

/** Returns whether the server closed a keep-alive connection or stopped. */
function isBrokenConnection(err: unknown): boolean {
  const code = err instanceof Error && "code" in err ? String(err.code) : "";
  return ["UND_ERR_SOCKET", "UND_ERR_INFO", "ECONNRESET", "EPIPE"].includes(code) || code.startsWith("ERR_HTTP2_");
}

/** Returns whether the request is idempotent. */
function isRepeatable(method: string, init: RequestInit): boolean {
  return method === "GET" || (method === "PATCH" && init.headers?.["content-type"] === "application/apply-patch+yaml");
}

function throttleMs(header: string | string[] | undefined): number | undefined {
  const seconds = typeof header === "string" && /^\d+$/.test(header) ? Number(header) : undefined;
  return seconds === undefined || seconds * 1000 > MAX_THROTTLE_MS ? undefined : Math.max(seconds * 1000, 100);
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });
}
