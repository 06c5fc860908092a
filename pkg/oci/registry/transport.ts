import { lookup as systemLookup } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { getCACertificates } from "node:tls";
import { LRUCache } from "lru-cache";
import type { Logger } from "pino";
import { openConnections } from "../../http/connections.ts";
import type { Connections, HttpResponse as ConnectionsResponse, HttpBody } from "../../http/types.ts";
import type { RegistryTlsMaterial } from "./certificates.ts";
import { createRequestError, isSilence, isTransient } from "./networkError.ts";
import { getProxyFor } from "./proxy.ts";

/** Addresses of this machine or of its local link, such as the metadata services of cloud providers. */
export type PrivateAddress = "loopback" | "link-local" | "unspecified";

const LISTS: readonly (readonly [PrivateAddress, BlockList])[] = [
  ["loopback", createBlockList(["127.0.0.0", 8], ["::1", 128])],
  ["link-local", createBlockList(["169.254.0.0", 16], ["fe80::", 10], ["fd00:ec2::254", 128])],
  ["unspecified", createBlockList(["0.0.0.0", 8], ["::", 128])],
];

function createBlockList(...subnets: readonly (readonly [address: string, prefix: number])[]): BlockList {
  const list = new BlockList();
  for (const [address, prefix] of subnets) list.addSubnet(address, prefix, address.includes(":") ? "ipv6" : "ipv4");
  return list;
}

/**
 * Returns the type of the private address in the hostname of a URL, without a lookup; undefined for public addresses and host names.
 */
export function parsePrivateAddress(hostname: string): PrivateAddress | undefined {
  const host = hostname.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  if (host === "localhost" || host.endsWith(".localhost")) return "loopback";
  const family = isIP(host);
  if (family === 0) return undefined;
  // An IPv4-mapped IPv6 address counts as its IPv4 address, which BlockList handles.
  return LISTS.find(([, list]) => list.check(host, family === 6 ? "ipv6" : "ipv4"))?.[0];
}

/**
 * Returns why a request to a target is refused; undefined if it is allowed. The target comes from a registry: a redirect or its token service. It may
 * be on this machine only if the registry is, and must not be a link-local address.
 * @param registry hostname of the registry that the target comes from.
 */
export function findRefusal(target: string, registry: string): string | undefined {
  const inner = parsePrivateAddress(target);
  if (inner === undefined || (inner !== "link-local" && inner === parsePrivateAddress(registry))) return undefined;
  return `refused to connect to ${target}, a ${inner} address`;
}

/** Resolves host names as the system does, but rejects names with a private address, such as loopback or link-local. */
export const outerLookup: LookupFunction = (hostname, options, callback) => {
  systemLookup(hostname, { ...options, all: true }, (err, addresses) => {
    if (err) return callback(err, "", 0);
    const inner = addresses.map(({ address }) => parsePrivateAddress(address)).find((found) => found !== undefined);
    if (inner !== undefined) return callback(new Error(`refused to connect to ${hostname}, which has a ${inner} address`), "", 0);
    const [first] = addresses;
    if (options.all) return callback(null, addresses);
    return callback(null, first?.address ?? "", first?.family);
  });
};

/** Connection settings of a registry; `insecure` accepts any certificate and plain HTTP. */
export interface Peer {
  readonly insecure: boolean;
  readonly tls: RegistryTlsMaterial;
}

/** Returns the peer without the client certificate, for hosts that the registry names. */
export function withoutIdentity(peer: Peer): Peer {
  return { ...peer, tls: { ca: peer.tls.ca, fingerprint: `${peer.tls.fingerprint}, trust only` } };
}

/** Body of a request; a function returns the same bytes on each call. */
type RequestBody = Uint8Array | string | (() => AsyncIterable<Uint8Array>);

/** A request with an optional body that can be sent again. */
export interface RegistryRequest {
  readonly method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  /** sent only to the origin of `url`, not after a redirect to another origin */
  readonly authorization?: string | undefined;
  readonly body?: RequestBody | undefined;
  /** Whether the request is safe to repeat although it is not GET or HEAD. */
  readonly repeatable?: boolean | undefined;
  readonly peer: Peer;
  /** the registry that `url` comes from; default: `url` is the registry */
  readonly namedBy?: URL;
  readonly signal: AbortSignal;
  /** fewer attempts than the transport's default */
  readonly attempts?: number | undefined;
  /** Do not retry on timeouts: the caller can use another server. */
  readonly leavesSilent?: boolean | undefined;
}

/** A response; the caller must read the body or `dump()` it. */
export interface RegistryResponse {
  readonly status: number;
  readonly headers: ConnectionsResponse["headers"];
  readonly body: HttpBody;
  /** whether a redirect led to another origin, whose messages must not be shown to users */
  readonly foreign: boolean;
}

/** The limits of a transport, see Limits. */
export interface TransportLimits {
  readonly stallMs: number;
  readonly attempts: number;
  readonly backoffMs: number;
  readonly retryAfterMs: number;
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const RETRIED = new Set([408, 429, 500, 502, 503, 504]);
const REDIRECT_LIMIT = 5;
const AGENT_LIMIT = 32;
const KEEP_ALIVE_MS = 4_000;
const CONNECT_TIMEOUT_MS = 30_000;

/**
 * HTTP client for registries with keep-alive pools, one for each way to reach a peer. Retries
 * repeatable requests, uses the proxy variables, and follows redirects itself, so that credentials
 * and the client certificate are sent only to their origin.
 */
export class RegistryTransport {
  readonly #agents = new LRUCache<string, Connections>({
    max: AGENT_LIMIT,
    dispose: (agent, _, reason) => {
      if (reason === "evict") void agent.close();
    },
  });
  readonly #limits: TransportLimits;
  readonly #env: NodeJS.ProcessEnv;
  readonly #log: Logger;

  constructor(options: { limits: TransportLimits; env: NodeJS.ProcessEnv; log: Logger }) {
    this.#limits = options.limits;
    this.#env = options.env;
    this.#log = options.log;
  }

  /**
   * Sends a request. Retries 408, 429, 5xx and broken connections of a GET, HEAD or repeatable request, after the delay in Retry-After. Returns the
   * response if it requests a delay longer than the limit `retryAfterMs`, or if the last attempt fails.
   * @throws Error `Get "https://…": …`; the signal's reason when it aborts
   */
  async send(ask: RegistryRequest): Promise<RegistryResponse> {
    const isRepeatable = ask.repeatable ?? (ask.method === "GET" || ask.method === "HEAD");
    const attempts = isRepeatable ? Math.min(ask.attempts ?? this.#limits.attempts, this.#limits.attempts) : 1;
    for (let attempt = 1; ; attempt++) {
      const backoff = this.#limits.backoffMs * 2 ** (attempt - 1) * (1 + Math.random() / 4);
      let wait = backoff;
      try {
        const response = await this.#follow(ask);
        if (attempt >= attempts || !RETRIED.has(response.status)) return response;
        wait = parseRetryAfter(response.headers["retry-after"], Date.now()) ?? backoff;
        if (wait > this.#limits.retryAfterMs) return response;
        await response.body.dump();
        this.#log.debug({ url: ask.url.href, status: response.status, wait }, "retrying registry request");
      } catch (err) {
        ask.signal.throwIfAborted();
        const isLeft = ask.leavesSilent === true && isSilence(err);
        if (attempt >= attempts || isLeft || !isTransient(err))
          throw createRequestError(ask.method, ask.url, err, getProxyFor(ask.url, this.#env));
        this.#log.debug({ url: ask.url.href, err, wait }, "retrying registry request");
      }
      await sleep(wait, undefined, { signal: ask.signal });
    }
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    const agents = [...this.#agents.values()];
    this.#agents.clear();
    await Promise.all(agents.map((agent) => agent.destroy()));
  }

  async #follow(ask: RegistryRequest): Promise<RegistryResponse> {
    let url = ask.url;
    let foreign = false;
    const home = (ask.namedBy ?? ask.url).hostname;
    for (let hop = 0; ; hop++) {
      const refused = findRefusal(url.hostname, home);
      if (refused !== undefined) throw new Error(refused);
      const headers: Record<string, string> = { "user-agent": "olmv1", ...ask.headers };
      if (ask.authorization !== undefined && !foreign) headers["authorization"] = ask.authorization;
      const connections = this.#agent(url, ask.peer, { foreign, outer: url.hostname !== home && parsePrivateAddress(home) === undefined });
      const response = await connections.request(url, {
        method: ask.method,
        headers,
        body: typeof ask.body === "function" ? Readable.from(ask.body(), { objectMode: false }) : (ask.body ?? null),
        signal: ask.signal,
        headersTimeoutMs: this.#limits.stallMs,
        bodyTimeoutMs: this.#limits.stallMs,
      });
      const location = response.headers["location"];
      if (!REDIRECTS.has(response.statusCode) || typeof location !== "string" || (ask.method !== "GET" && ask.method !== "HEAD"))
        return { status: response.statusCode, headers: response.headers, body: response.body, foreign };
      await response.body.dump();
      if (hop >= REDIRECT_LIMIT) throw new Error(`stopped after ${REDIRECT_LIMIT} redirects`);
      const next = redirectTarget(url, location, ask.peer.insecure);
      foreign ||= next.origin !== ask.url.origin;
      url = next;
    }
  }

  #agent(url: URL, peer: Peer, way: ConnectionTraits): Connections {
    const proxy = getProxyFor(url, this.#env);
    const key = [proxy?.href ?? "", peer.insecure, way.foreign, way.outer, peer.tls.fingerprint].join("|");
    const known = this.#agents.get(key);
    if (known) return known;
    const agent = agentFor(proxy, peer, way);
    this.#agents.set(key, agent);
    return agent;
  }
}

/** Properties of a connection. */
interface ConnectionTraits {
  /** The request was redirected to another origin, so it is sent without the client certificate. */
  readonly foreign: boolean;
  /** The host comes from a registry, so it must not be on this machine. */
  readonly outer: boolean;
}

function agentFor(proxy: URL | undefined, peer: Peer, { foreign, outer }: ConnectionTraits): Connections {
  const identity = foreign ? undefined : peer.tls.identity;
  // An unverified peer needs no authorities, and reading them takes 100 ms.
  const ca = peer.insecure ? [] : listAuthorities(peer.tls.ca);
  const tls = { ca, ...identity, rejectUnauthorized: !peer.insecure };
  const lookup = outer ? outerLookup : undefined;
  return openConnections({
    tls,
    lookup,
    proxy: proxy?.href,
    perServer: 16,
    keepAliveMs: KEEP_ALIVE_MS,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
  });
}

/**
 * Returns the authorities of Node, of the system (including SSL_CERT_FILE and SSL_CERT_DIR) and of
 * the registry, without duplicates.
 */
function listAuthorities(extra: readonly string[]): string[] {
  const all = [...getCACertificates("default"), ...getCACertificates("system")];
  return [...new Map(all.map((pem) => [pem.replaceAll(/\s/g, ""), pem])).values(), ...extra];
}

/** Returns the target of a redirect. @throws Error if it leaves TLS or HTTP */
function redirectTarget(from: URL, location: string, insecure: boolean): URL {
  const url = URL.parse(location, from.href);
  if (!url || (url.protocol !== "https:" && url.protocol !== "http:")) throw new Error("redirected to an invalid HTTP address");
  if (from.protocol === "https:" && url.protocol === "http:" && !insecure)
    throw new Error(`refused a redirect from https to plain http at ${url.host}`);
  url.username = "";
  url.password = "";
  return url;
}

/** Discards a response without reading its body; closes its connection. */
export function drop(response: RegistryResponse): void {
  response.body.on("error", () => undefined);
  response.body.destroy();
}

/**
 * Parses the delay of a Retry-After header, in seconds or as an HTTP date, into milliseconds;
 * undefined if it is not in the future.
 */
export function parseRetryAfter(header: string | string[] | undefined, now: number): number | undefined {
  const text = Array.isArray(header) ? header[0] : header;
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const at = /^[A-Z][a-z]+, /.test(text) ? Date.parse(text) : Number.NaN;
  return at > now ? at - now : undefined;
}
