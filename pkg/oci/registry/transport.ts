import { lookup as systemLookup } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { createSecureContext, getCACertificates } from "node:tls";
import { LRUCache } from "lru-cache";
import type { Logger } from "pino";
import { openConnections } from "../../http/connections.ts";
import type { Connections, HttpResponse as ConnectionsResponse, HttpBody } from "../../http/types.ts";
import type { RegistryTlsMaterial } from "./certificates.ts";
import { failureOf, isSilence, isTransient } from "./networkError.ts";
import { proxyFor } from "./proxy.ts";

/** Addresses that lead to this machine, or to what stands on its own link, such as where cloud providers hand out credentials. */
export type InnerAddress = "loopback" | "link-local" | "unspecified";

const LISTS: readonly (readonly [InnerAddress, BlockList])[] = [
  ["loopback", listOf(["127.0.0.0", 8], ["::1", 128])],
  ["link-local", listOf(["169.254.0.0", 16], ["fe80::", 10], ["fd00:ec2::254", 128])],
  ["unspecified", listOf(["0.0.0.0", 8], ["::", 128])],
];

function listOf(...subnets: readonly (readonly [address: string, prefix: number])[]): BlockList {
  const list = new BlockList();
  for (const [address, prefix] of subnets) list.addSubnet(address, prefix, address.includes(":") ? "ipv6" : "ipv4");
  return list;
}

/** What kind of inner address a URL's hostname is, as far as its text tells; undefined for others and for names that have to be looked up. */
export function innerAddress(hostname: string): InnerAddress | undefined {
  const host = hostname.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  if (host === "localhost" || host.endsWith(".localhost")) return "loopback";
  const family = isIP(host);
  if (family === 0) return undefined;
  // An IPv4 address in IPv6 clothes is that IPv4 address, which BlockList knows by itself.
  return LISTS.find(([, list]) => list.check(host, family === 6 ? "ipv6" : "ipv4"))?.[0];
}

/**
 * Why a request that a registry asks for, by a redirect or as its token service, is not sent there; undefined when it may be. A registry on this
 * machine may name others on it, and nobody may name what is link-local.
 * @param registry the hostname of the registry that was asked.
 */
export function findRefusal(target: string, registry: string): string | undefined {
  const inner = innerAddress(target);
  if (inner === undefined || (inner !== "link-local" && inner === innerAddress(registry))) return undefined;
  return `refused to ask ${target}, a ${inner} address`;
}

/** Looks names up as the system does, and refuses those that lead to an inner address. */
export const outerLookup: LookupFunction = (hostname, options, callback) => {
  systemLookup(hostname, { ...options, all: true }, (err, addresses) => {
    if (err) return callback(err, "", 0);
    const inner = addresses.map(({ address }) => innerAddress(address)).find((found) => found !== undefined);
    if (inner !== undefined) return callback(new Error(`refused to ask ${hostname}, which has a ${inner} address`), "", 0);
    const [first] = addresses;
    if (options.all) return callback(null, addresses);
    return callback(null, first?.address ?? "", first?.family);
  });
};

/** How to reach one registry; `insecure` accepts any certificate and plain HTTP. */
export interface Peer {
  readonly insecure: boolean;
  readonly tls: RegistryTlsMaterial;
}

/** What a request sends; a function gives the same bytes each time it is called. */
type RequestBody = Uint8Array | string | (() => AsyncIterable<Uint8Array>);

/** A request whose body, if any, can be sent again. */
export interface RegistryRequest {
  readonly method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH";
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  /** sent to the origin of `url` only, never after a redirect to another one */
  readonly authorization?: string | undefined;
  readonly body?: RequestBody | undefined;
  /** It may be sent twice though it is neither GET nor HEAD: what the first one did is done once more without harm. */
  readonly repeatable?: boolean | undefined;
  readonly peer: Peer;
  /** the registry that named `url`; by default `url` is the registry itself */
  readonly namedBy?: URL;
  readonly signal: AbortSignal;
  /** fewer tries than the transport would make */
  readonly attempts?: number | undefined;
  /** Do not retry when the server stays silent: the caller has another server to ask. */
  readonly leavesSilent?: boolean | undefined;
}

/** An answer; whoever asked must read the body or `dump()` it. */
export interface RegistryResponse {
  readonly status: number;
  readonly headers: ConnectionsResponse["headers"];
  readonly body: HttpBody;
  /** a redirect led to another origin, whose words must not be quoted to a user */
  readonly foreign: boolean;
}

/** The bounds a transport keeps, see Limits. */
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
 * HTTP to registries over keep-alive pools, one per way to reach a peer. Retries what can be repeated, follows redirects by hand so that
 * credentials and our own certificate stay with the origin they are for, and honours the proxy variables.
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
   * Sends a request. 408, 429, 5xx and broken connections of a GET or HEAD, or of what is repeatable, are tried again, as late as Retry-After says; an answer that
   * asks for more patience than `retryAfterMs`, or that still fails at the last try, is returned as it is.
   * @throws Error `Get "https://…": …`; the signal's reason when it is aborted
   */
  async send(ask: RegistryRequest): Promise<RegistryResponse> {
    const isRepeatable = ask.repeatable ?? (ask.method === "GET" || ask.method === "HEAD");
    const attempts = isRepeatable ? Math.min(ask.attempts ?? this.#limits.attempts, this.#limits.attempts) : 1;
    for (let attempt = 1; ; attempt++) {
      const backoff = this.#limits.backoffMs * 2 ** (attempt - 1) * (1 + Math.random() / 4);
      let wait = backoff;
      try {
        const answer = await this.#follow(ask);
        if (attempt >= attempts || !RETRIED.has(answer.status)) return answer;
        wait = retryAfterMs(answer.headers["retry-after"], Date.now()) ?? backoff;
        if (wait > this.#limits.retryAfterMs) return answer;
        await answer.body.dump();
        this.#log.debug({ url: ask.url.href, status: answer.status, wait }, "registry request is tried again");
      } catch (err) {
        ask.signal.throwIfAborted();
        const isLeft = ask.leavesSilent === true && isSilence(err);
        if (attempt >= attempts || isLeft || !isTransient(err)) throw failureOf(ask.method, ask.url, err, proxyFor(ask.url, this.#env));
        this.#log.debug({ url: ask.url.href, err, wait }, "registry request is tried again");
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
      const connections = this.#agent(url, ask.peer, { foreign, outer: url.hostname !== home && innerAddress(home) === undefined });
      const answer = await connections.request(url, {
        method: ask.method,
        headers,
        body: typeof ask.body === "function" ? Readable.from(ask.body(), { objectMode: false }) : (ask.body ?? null),
        signal: ask.signal,
        headersTimeoutMs: this.#limits.stallMs,
        bodyTimeoutMs: this.#limits.stallMs,
      });
      const location = answer.headers["location"];
      if (!REDIRECTS.has(answer.statusCode) || typeof location !== "string" || (ask.method !== "GET" && ask.method !== "HEAD"))
        return { status: answer.statusCode, headers: answer.headers, body: answer.body, foreign };
      await answer.body.dump();
      if (hop >= REDIRECT_LIMIT) throw new Error(`stopped after ${REDIRECT_LIMIT} redirects`);
      const next = redirectTarget(url, location, ask.peer.insecure);
      foreign ||= next.origin !== ask.url.origin;
      url = next;
    }
  }

  #agent(url: URL, peer: Peer, way: Way): Connections {
    const proxy = proxyFor(url, this.#env);
    const key = [proxy?.href ?? "", peer.insecure, way.foreign, way.outer, peer.tls.fingerprint].join("|");
    const known = this.#agents.get(key);
    if (known) return known;
    const agent = agentFor(proxy, peer, way);
    this.#agents.set(key, agent);
    return agent;
  }
}

/** What a connection is for. */
interface Way {
  /** After a redirect to another origin, where our own certificate has no business. */
  readonly foreign: boolean;
  /** To a host that a registry named, which must not be one of this machine. */
  readonly outer: boolean;
}

function agentFor(proxy: URL | undefined, peer: Peer, { foreign, outer }: Way): Connections {
  const identity = foreign ? undefined : peer.tls.identity;
  // An unverified peer needs no authorities, and reading them all takes a tenth of a second.
  const ca = peer.insecure ? [] : trusted(peer.tls.ca);
  const tls = { secureContext: createSecureContext({ ca, ...identity }), rejectUnauthorized: !peer.insecure };
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

/** The authorities of Node, of the system (SSL_CERT_FILE and SSL_CERT_DIR included) and of the registry, each once. */
function trusted(extra: readonly string[]): string[] {
  const all = [...getCACertificates("default"), ...getCACertificates("system")];
  return [...new Map(all.map((pem) => [pem.replaceAll(/\s/g, ""), pem])).values(), ...extra];
}

/** Where a redirect leads. @throws Error when it would leave TLS, or HTTP altogether */
function redirectTarget(from: URL, location: string, insecure: boolean): URL {
  const url = URL.parse(location, from.href);
  if (!url || (url.protocol !== "https:" && url.protocol !== "http:")) throw new Error("redirected to something that is no HTTP address");
  if (from.protocol === "https:" && url.protocol === "http:" && !insecure)
    throw new Error(`refused the redirect from https to plain http at ${url.host}`);
  url.username = "";
  url.password = "";
  return url;
}

/** Drops an answer whose body nobody wants to read; its connection is closed. */
export function drop(answer: RegistryResponse): void {
  answer.body.on("error", () => undefined);
  answer.body.destroy();
}

/** Milliseconds that a Retry-After header asks to wait, from seconds or an HTTP date; undefined when there is none in the future. */
export function retryAfterMs(header: string | string[] | undefined, now: number): number | undefined {
  const text = Array.isArray(header) ? header[0] : header;
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const at = /^[A-Z][a-z]+, /.test(text) ? Date.parse(text) : Number.NaN;
  return at > now ? at - now : undefined;
}
