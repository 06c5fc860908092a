import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Logger } from "pino";
import * as z from "zod";
import { tryParseJson } from "../../golang/json.ts";
import { readBounded } from "../digest.ts";
import type { RegistryCredentials } from "./authFile.ts";
import { formatUnexpectedStatus, RegistryError, readRegistryError } from "./registryError.ts";
import { type Peer, type RegistryRequest, type RegistryResponse, type RegistryTransport, withoutIdentity } from "./transport.ts";

const Answer = z.looseObject({
  token: z.string().optional(),
  access_token: z.string().optional(),
  expires_in: z.number().optional(),
});
const ANSWER_LIMIT = 1024 * 1024;
/** Minimum and maximum lifetime of a token, regardless of the response. */
const LIFETIME_MIN_S = 60;
const LIFETIME_MAX_S = 60 * 60;
/** Maximum length of a token; servers accept headers of 8 to 64 KiB. */
const TOKEN_CHARACTERS = 64 * 1024;
/** A token is renewed this long before it expires. */
const MARGIN_MS = 10_000;
const CACHE_LIMIT = 1000;
/** Maximum length of all tokens in the cache. */
const CACHE_CHARACTERS = 4 * 1024 * 1024;

/**
 * Purpose of a token: the registry that requires it and the permissions on one repository,
 * "repository:<path>:pull".
 */
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
 * Bearer tokens, one per realm, service, scope and identity, used until shortly before they expire,
 * at most for an hour. Keeps at most 1000 tokens and 4 Mi characters.
 *
 * The realm's address comes from the registry, so the password is not sent to every realm. It is
 * sent to the registry's own host; to another host over https if the registry's challenge came over
 * verified https (as for Docker Hub and auth.docker.io); and, for an `insecure` registry, to a host
 * with the same parent domain. It is never sent from an https registry to a plain HTTP realm. In
 * all other cases the token is requested anonymously, which works for public images.
 */
export class RegistryTokens {
  readonly #transport: RegistryTransport;
  readonly #log: Logger;
  readonly #cache = new LRUCache<string, string>({
    max: CACHE_LIMIT,
    maxSize: CACHE_CHARACTERS,
    sizeCalculation: (token) => token.length,
    perf: Date,
  });

  constructor(transport: RegistryTransport, log: Logger) {
    this.#transport = transport;
    this.#log = log;
  }

  /**
   * Returns the token for a request.
   * @param stale a token that the registry denied although it had not expired; it is not used again
   * @throws Error with the texts of containers/image: `unable to retrieve auth token: …`,
   * `Requesting bearer token: …`
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
    const response = await this.#transport.send(ask);
    if (response.status !== 200) throw await tokenError(response, oauth ? "Trying to obtain access token" : "Requesting bearer token");
    const body = await readBounded(response.body, ANSWER_LIMIT);
    const parsed = Answer.safeParse(tryParseJson(body.toString("utf8")));
    const token = parsed.data?.token || parsed.data?.access_token;
    if (!token) throw new Error(`decoding bearer token: the response of ${realm.host} contains no token`);
    if (token.length > TOKEN_CHARACTERS)
      throw new Error(`decoding bearer token: the token of ${realm.host} is longer than ${TOKEN_CHARACTERS} characters`);
    const lifetimeS = Math.min(Math.max(parsed.data?.expires_in ?? 0, LIFETIME_MIN_S), LIFETIME_MAX_S);
    return { token, lifetimeMs: lifetimeS * 1000 };
  }
}

/** Formats the Authorization header for a user name and password. */
export function formatBasicAuth(credentials: RegistryCredentials): string {
  return `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString("base64")}`;
}

/**
 * Returns whether a token service may receive the registry's password; see {@link RegistryTokens}
 * for the rule.
 */
export function mayReceivePassword(realm: URL, registry: URL, insecure: boolean): boolean {
  if (registry.protocol === "https:" && realm.protocol !== "https:") return false;
  if (realm.hostname === registry.hostname) return true;
  if (realm.protocol !== "https:") return false;
  if (registry.protocol === "https:" && !insecure) return true;
  const parent = parentDomain(registry.hostname);
  return parent !== undefined && parent === parentDomain(realm.hostname);
}

/**
 * Returns "example.com" for "registry.example.com"; undefined for an address and for a name whose
 * parent is a single label.
 */
function parentDomain(hostname: string): string | undefined {
  const parent = hostname.slice(hostname.indexOf(".") + 1);
  return hostname.includes(".") && parent.includes(".") && /[a-z]/i.test(parent) && !hostname.startsWith("[") ? parent : undefined;
}

function cacheKey(realm: URL, want: TokenRequest, credentials: RegistryCredentials | undefined): string {
  const parts = [realm.href, want.challenge.params.get("service"), want.scopes, credentials, want.peer.insecure, want.peer.tls.fingerprint];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

async function tokenError(response: RegistryResponse, doing: string): Promise<Error> {
  const err = await readRegistryError(response);
  if (response.status === 401)
    return new RegistryError(`unable to retrieve auth token: invalid username/password: ${err.message}`, 401, err.retryAfterMs);
  if (response.status === 429) return new RegistryError("too many requests to registry", 429, err.retryAfterMs);
  return new RegistryError(`${doing}: ${formatUnexpectedStatus(response.status)}`, response.status, err.retryAfterMs);
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
 * Parses the challenges of a response in order; one header line may contain several. Stops at the
 * first malformed part of a line and keeps the challenges before it.
 * @param header the header's values, one per line
 * @see RFC 7235 §2.1 and §4.1
 */
export function parseChallenges(header: string | readonly string[] | undefined): Challenge[] {
  const lines = header === undefined ? [] : typeof header === "string" ? [header] : header;
  return lines.flatMap(parseChallengeLine);
}

function parseChallengeLine(line: string): Challenge[] {
  const found: { scheme: string; params: Map<string, string> }[] = [];
  let at = 0;
  /** Returns the text that `pattern` matches here, or its first group, and moves past it. */
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const match = pattern.exec(line);
    if (!match) return undefined;
    at += match[0].length;
    return match[1] ?? match[0];
  };
  /** Returns the value after "name =": a token or a quoted string; undefined if there is none. */
  const takeValue = (): string | undefined => take(TOKEN) ?? take(QUOTED)?.replaceAll(/\\(.)/g, "$1");

  while (true) {
    take(SEPARATORS);
    const name = take(TOKEN);
    if (name === undefined) return found;
    const afterName = at;
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
    // A token68 (as in "Negotiate YWJj=") is between the scheme's space and the next comma; it is
    // ignored.
    if (at > afterName) take(TOKEN68);
  }
}
