import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Logger } from "pino";
import * as z from "zod";
import { readBounded } from "../digest.ts";
import type { RegistryCredentials } from "./authFile.ts";
import { RegistryError, registryError, unexpectedStatus } from "./registryError.ts";
import type { Peer, RegistryRequest, RegistryResponse, RegistryTransport } from "./transport.ts";

const Answer = z.looseObject({
  token: z.string().optional(),
  access_token: z.string().optional(),
  expires_in: z.number().optional(),
});
const ANSWER_LIMIT = 1024 * 1024;
/** A token counts for at least this long, whatever its answer says. */
const LIFETIME_MIN_S = 60;
/** It is renewed this long before it ends. */
const MARGIN_MS = 10_000;
const CACHE_LIMIT = 1000;

/** What a token is asked for: the registry that wants it and the rights on one repository, "repository:<path>:pull". */
export interface TokenRequest {
  /** the registry's base address */
  readonly registry: URL;
  readonly peer: Peer;
  readonly challenge: Challenge;
  readonly scopes: readonly string[];
  readonly credentials: RegistryCredentials | undefined;
  readonly signal: AbortSignal;
}

/**
 * Bearer tokens, one per realm, service, scope and identity, used until shortly before they expire.
 *
 * Who gets the password: the realm's address comes from the registry, so it is not sent blindly. It goes to the registry's own host; to
 * another host over https when the registry named it over verified https (as Docker Hub names auth.docker.io); and, for an `insecure`
 * registry, to a host under the same parent domain. It never goes from an https registry to a plain http realm. In all other cases the
 * token is asked for anonymously, which works for public images.
 */
export class RegistryTokens {
  readonly #transport: RegistryTransport;
  readonly #log: Logger;
  readonly #cache = new LRUCache<string, string>({ max: CACHE_LIMIT, perf: Date });

  constructor(transport: RegistryTransport, log: Logger) {
    this.#transport = transport;
    this.#log = log;
  }

  /**
   * The token for a request.
   * @param stale a token that the registry refused although it had not expired; it is not used again
   * @throws Error with containers/image's texts: `unable to retrieve auth token: …`, `Requesting bearer token: …`
   */
  async token(want: TokenRequest, stale?: string): Promise<string> {
    const realm = URL.parse(want.challenge.params.get("realm") ?? "");
    if (!realm || (realm.protocol !== "https:" && realm.protocol !== "http:")) throw new Error("missing realm in bearer auth challenge");
    const trusted = mayReceivePassword(realm, want.registry, want.peer.insecure);
    if (!trusted && want.credentials)
      this.#log.warn({ registry: want.registry.host, realm: realm.host }, "registry credentials are not sent to this token service");
    const credentials = trusted ? want.credentials : undefined;
    const key = cacheKey(realm, want, credentials);
    const known = this.#cache.get(key);
    if (known !== undefined && known !== stale) return known;
    const { token, lifetimeMs } = await this.#fetch(realm, want, credentials);
    this.#cache.set(key, token, { ttl: lifetimeMs - MARGIN_MS });
    return token;
  }

  async #fetch(
    realm: URL,
    want: TokenRequest,
    credentials: RegistryCredentials | undefined,
  ): Promise<{ token: string; lifetimeMs: number }> {
    const oauth = credentials?.identityToken !== undefined;
    const url = new URL(realm);
    const params = oauth ? new URLSearchParams() : url.searchParams;
    if (!oauth && credentials?.username) params.append("account", credentials.username);
    const service = want.challenge.params.get("service");
    if (service) params.append("service", service);
    for (const scope of want.scopes) params.append("scope", scope);
    const peer = realm.origin === want.registry.origin ? want.peer : withoutIdentity(want.peer);
    let ask: RegistryRequest = { method: "GET", url, peer, namedBy: want.registry, signal: want.signal };
    if (oauth) {
      params.append("grant_type", "refresh_token");
      params.append("refresh_token", credentials.identityToken ?? "");
      params.append("client_id", "olmv1");
      ask = { ...ask, method: "POST", headers: { "content-type": "application/x-www-form-urlencoded" }, body: params.toString() };
    } else if (credentials?.username && credentials.password) {
      ask = { ...ask, authorization: formatBasicAuth(credentials) };
    }
    const answer = await this.#transport.send(ask);
    if (answer.status !== 200) throw await tokenError(answer, oauth ? "Trying to obtain access token" : "Requesting bearer token");
    const body = await readBounded(answer.body, ANSWER_LIMIT);
    const parsed = Answer.safeParse(jsonOf(body.toString("utf8")));
    const token = parsed.data?.token || parsed.data?.access_token;
    if (!token) throw new Error(`decoding bearer token: the answer of ${realm.host} holds none`);
    return { token, lifetimeMs: Math.max(parsed.data?.expires_in ?? 0, LIFETIME_MIN_S) * 1000 };
  }
}

/** The Authorization header of a user name and password. */
export function formatBasicAuth(credentials: RegistryCredentials): string {
  return `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString("base64")}`;
}

/** The same trust without our own certificate. */
function withoutIdentity(peer: Peer): Peer {
  return { ...peer, tls: { ca: peer.tls.ca, fingerprint: `${peer.tls.fingerprint}, trust only` } };
}

/** Whether a token service may be given the registry's password; the rule is told at {@link RegistryTokens}. */
export function mayReceivePassword(realm: URL, registry: URL, insecure: boolean): boolean {
  if (registry.protocol === "https:" && realm.protocol !== "https:") return false;
  if (realm.hostname === registry.hostname) return true;
  if (realm.protocol !== "https:") return false;
  if (registry.protocol === "https:" && !insecure) return true;
  const parent = parentDomain(registry.hostname);
  return parent !== undefined && parent === parentDomain(realm.hostname);
}

/** "example.com" of "registry.example.com"; undefined for an address and for a name whose parent is a single label. */
function parentDomain(hostname: string): string | undefined {
  const parent = hostname.slice(hostname.indexOf(".") + 1);
  return hostname.includes(".") && parent.includes(".") && /[a-z]/i.test(parent) && !hostname.startsWith("[") ? parent : undefined;
}

function cacheKey(realm: URL, want: TokenRequest, credentials: RegistryCredentials | undefined): string {
  const parts = [realm.href, want.challenge.params.get("service"), want.scopes, credentials, want.peer.insecure, want.peer.tls.fingerprint];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

async function tokenError(answer: RegistryResponse, doing: string): Promise<Error> {
  const err = await registryError(answer);
  if (answer.status === 401)
    return new RegistryError(`unable to retrieve auth token: invalid username/password: ${err.message}`, 401, err.retryAfterMs);
  if (answer.status === 429) return new RegistryError("too many requests to registry", 429, err.retryAfterMs);
  return new RegistryError(`${doing}: ${unexpectedStatus(answer.status)}`, answer.status, err.retryAfterMs);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** One authentication challenge of a WWW-Authenticate header. */
export interface Challenge {
  /** auth-scheme in lower case */
  readonly scheme: string;
  /** auth-params, names in lower case; a repeated name keeps its last value */
  readonly params: ReadonlyMap<string, string>;
}

const TOKEN = /[!#$%&'*+\-.^_`|~0-9A-Za-z]+/y;
const TOKEN68 = /[A-Za-z0-9\-._~+/]+=*(?=[ \t]*(?:,|$))/y;
const QUOTED = /"((?:[^"\\]|\\.)*)"/y;
const SPACE = /[ \t]*/y;
const SEPARATORS = /[ \t,]*/y;

/**
 * The challenges of a response in the order the server gave them; several may stand in one header line.
 * Reading stops at the first malformed part of a line; what was read before it counts.
 * @param header the header's values, one per line
 * @see RFC 7235 §2.1 and §4.1
 */
export function parseChallenges(header: string | readonly string[] | undefined): Challenge[] {
  const lines = header === undefined ? [] : typeof header === "string" ? [header] : header;
  return lines.flatMap(challengesOf);
}

function challengesOf(line: string): Challenge[] {
  const found: { scheme: string; params: Map<string, string> }[] = [];
  let at = 0;
  /** The text `pattern` matches here, first group if it has one; moves on behind it. */
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const match = pattern.exec(line);
    if (!match) return undefined;
    at += match[0].length;
    return match[1] ?? match[0];
  };
  /** The value after "name =": a token or a quoted string; undefined when there is none. */
  const takeValue = (): string | undefined => take(TOKEN) ?? take(QUOTED)?.replaceAll(/\\(.)/g, "$1");

  while (true) {
    take(SEPARATORS);
    const name = take(TOKEN);
    if (name === undefined) return found;
    const behindName = at;
    take(SPACE);
    const current = found.at(-1);
    if (current && line[at] === "=") {
      at++;
      take(SPACE);
      const value = takeValue();
      if (value === undefined) return found;
      current.params.set(name.toLowerCase(), value);
      continue;
    }
    found.push({ scheme: name.toLowerCase(), params: new Map() });
    // A token68 (as in "Negotiate YWJj=") stands behind the scheme's space and before the next comma; it says nothing to us.
    if (at > behindName) take(TOKEN68);
  }
}
