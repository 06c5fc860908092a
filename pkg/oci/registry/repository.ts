import * as z from "zod";
import { computeDigest, readBounded } from "../digest.ts";
import { ImageContentError } from "../imageErrors.ts";
import { ACCEPTED_MANIFESTS, type Descriptor, MediaType, parseManifest } from "../manifest.ts";
import { formatRepository, type Reference } from "../reference.ts";
import type { RegistryCredentials } from "./authFile.ts";
import { RegistryError, readRegistryError } from "./registryError.ts";
import { type Challenge, formatBasicAuth, parseChallenges, type RegistryTokens } from "./tokens.ts";
import { drop, type Peer, type RegistryRequest, type RegistryResponse, type RegistryTransport, withoutIdentity } from "./transport.ts";

/** A manifest as received; its digest was computed from the bytes. */
export interface FetchedManifest {
  readonly bytes: Buffer;
  readonly mediaType: string;
  readonly digest: string;
}

/** Options of a repository. */
export interface RepositoryOptions {
  readonly ref: Reference;
  readonly peer: Peer;
  readonly credentials: RegistryCredentials | undefined;
  readonly transport: RegistryTransport;
  readonly tokens: RegistryTokens;
  /** "pull" or "pull,push" */
  readonly actions: string;
  /** see {@link Repository.hasAlternative} */
  readonly hasAlternative?: boolean;
}

/** A request to a repository: below /v2/<repository>/, or to a full address from the registry. */
export interface RepositoryRequest extends Omit<RegistryRequest, "url" | "peer" | "authorization" | "namedBy"> {
  readonly path: string | URL;
  /** paths of further repositories in the registry to read from */
  readonly reads?: readonly string[];
}

/** Result of the first request to a registry. */
interface Contact {
  readonly base: URL;
  readonly challenges: readonly Challenge[];
}

/** One repository of one registry, over the distribution API. */
export class Repository {
  readonly ref: Reference;
  /**
   * Whether another location may have the same content. If so, requests are not retried on
   * timeouts.
   */
  readonly hasAlternative: boolean;
  readonly #options: RepositoryOptions;
  #contact: Promise<Contact> | undefined;

  constructor(options: RepositoryOptions) {
    this.ref = options.ref;
    this.hasAlternative = options.hasAlternative ?? false;
    this.#options = options;
  }

  /**
   * Returns this repository with the same connections, for a caller with or without another
   * location.
   */
  withAlternative(hasAlternative: boolean): Repository {
    if (hasAlternative === this.hasAlternative) return this;
    const other = new Repository({ ...this.#options, hasAlternative });
    other.#contact = this.#contact;
    return other;
  }

  /**
   * Fetches a manifest or an index by tag or digest, and verifies it against the requested or
   * announced digest.
   * @throws RegistryError `reading manifest TAG in NAME: …`; Error for a wrong digest or more than
   * `limit` bytes
   */
  async manifest(tagOrDigest: string, limit: number, signal: AbortSignal): Promise<FetchedManifest> {
    const doing = `reading manifest ${tagOrDigest} in ${formatRepository(this.ref)}`;
    const headers = { accept: ACCEPTED_MANIFESTS.join(", ") };
    const response = await this.request({ method: "GET", path: `manifests/${tagOrDigest}`, headers, signal });
    if (response.status !== 200) throw await createPrefixedError(doing, response);
    const bytes = await readBounded(response.body, limit);
    const announced = response.headers["docker-content-digest"];
    const want = tagOrDigest.includes(":") ? tagOrDigest : undefined;
    const digest = computeDigest(bytes, want);
    const expected = want ?? (typeof announced === "string" && announced.startsWith("sha256:") ? announced : digest);
    if (digest !== expected) throw new Error(`${doing}: Digest did not match, expected ${expected}, got ${digest}`);
    const type = response.headers["content-type"];
    return { bytes, mediaType: typeof type === "string" ? type.replace(/;.*$/, "").trim() : "", digest };
  }

  /**
   * Like `manifest`, but returns undefined if the manifest does not exist. @throws as `manifest`
   * otherwise
   */
  async findManifest(tagOrDigest: string, limit: number, signal: AbortSignal): Promise<FetchedManifest | undefined> {
    try {
      return await this.manifest(tagOrDigest, limit, signal);
    } catch (err) {
      if (err instanceof RegistryError && err.status === 404) return undefined;
      throw err;
    }
  }

  /**
   * Requests a manifest with HEAD, which registries do not count as a pull. `digest` is undefined
   * unless the response is definite: some registries and proxies reject HEAD, or respond without a
   * digest or a reason.
   */
  async headManifest(tagOrDigest: string, signal: AbortSignal): Promise<{ status: number; digest: string | undefined }> {
    const headers = { accept: ACCEPTED_MANIFESTS.join(", ") };
    const response = await this.request({ method: "HEAD", path: `manifests/${tagOrDigest}`, headers, signal });
    await response.body.dump();
    const digest = response.headers["docker-content-digest"];
    const isIt = typeof digest === "string" && (tagOrDigest.includes(":") ? digest === tagOrDigest : digest !== "");
    return { status: response.status, digest: response.status === OK && isIt ? digest : undefined };
  }

  /**
   * Opens a blob from byte `offset`, without verifying it.
   * @returns the response, and the offset at which its body starts: 0 if the registry does not
   * support ranges
   * @throws RegistryError `fetching blob: …`
   */
  async blob(blob: Descriptor, offset: number, signal: AbortSignal): Promise<{ body: AsyncIterable<Uint8Array>; offset: number }> {
    const headers: Record<string, string> = offset > 0 ? { range: `bytes=${offset}-` } : {};
    const response = await this.request({ method: "GET", path: `blobs/${blob.digest}`, headers, signal });
    if (response.status !== 200 && response.status !== 206) throw await createPrefixedError("fetching blob", response);
    const range = response.headers["content-range"];
    const resumed = response.status === 206 && typeof range === "string" && range.startsWith(`bytes ${offset}-`);
    if (response.status === 206 && !resumed) {
      drop(response);
      throw new Error("fetching blob: the registry returned a different range than requested");
    }
    const length = Number(response.headers["content-length"] ?? Number.NaN);
    const expected = blob.size - (resumed ? offset : 0);
    if (length > expected) {
      drop(response);
      throw new Error(`fetching blob: its size is ${length} bytes, expected ${expected}`);
    }
    return { body: response.body, offset: resumed ? offset : 0 };
  }

  /**
   * Sends a request below /v2/<repository>/ (or to a full address) with the authorization that the
   * registry requires. A full address at another host gets neither the authorization nor the client
   * certificate. If a request is denied, retries once with a new token, and with the scope in the
   * registry's challenge, if any.
   */
  async request(ask: RepositoryRequest): Promise<RegistryResponse> {
    this.#contact ??= this.#connect(ask.signal);
    const { base, challenges } = await this.#contact;
    const url = ask.path instanceof URL ? ask.path : new URL(`/v2/${this.ref.repository}/${ask.path}`, base);
    const foreign = url.origin !== base.origin;
    const { path: _, reads = [], ...rest } = ask;
    const peer = foreign ? withoutIdentity(this.#options.peer) : this.#options.peer;
    const namedBy = foreign ? { namedBy: base } : {};
    const send = (authorization: string | undefined): Promise<RegistryResponse> =>
      this.#options.transport.send({
        leavesSilent: this.hasAlternative,
        ...rest,
        ...namedBy,
        url,
        peer,
        authorization,
      });
    const scope = `repository:${this.ref.repository}:${this.#options.actions}`;
    const requested = [scope, ...reads.map((repository) => `repository:${repository}:pull`)];
    const first = foreign ? undefined : await this.#authorization({ base, challenges }, requested, ask.signal);
    const response = await send(first);
    if ((response.status !== 401 && response.status !== 403) || response.foreign || foreign) return response;
    const given = parseChallenges(response.headers["www-authenticate"]);
    const lacking = given.find((challenge) => challenge.params.get("error") === "insufficient_scope")?.params.get("scope");
    if (response.status === 403 && lacking === undefined) return response;
    const scopes = lacking !== undefined && !requested.includes(lacking) ? [...requested, lacking] : requested;
    const stale = first?.startsWith("Bearer ") ? first.slice("Bearer ".length) : undefined;
    const again = await this.#authorization({ base, challenges: given.length > 0 ? given : challenges }, scopes, ask.signal, stale);
    if (again === undefined || again === first) return response;
    await response.body.dump();
    return send(again);
  }

  /** Returns the registry's base address, determined by the first request. */
  async base(signal: AbortSignal): Promise<URL> {
    this.#contact ??= this.#connect(signal);
    return (await this.#contact).base;
  }

  /** Returns the header for the first supported challenge; undefined for none. */
  async #authorization(contact: Contact, scopes: readonly string[], signal: AbortSignal, stale?: string): Promise<string | undefined> {
    const { credentials, peer, tokens } = this.#options;
    for (const challenge of contact.challenges) {
      if (challenge.scheme === "basic") return credentials?.username ? formatBasicAuth(credentials) : undefined;
      if (challenge.scheme !== "bearer") continue;
      if (credentials?.registryToken) return `Bearer ${credentials.registryToken}`;
      const token = await tokens.token({ registry: contact.base, peer, challenge, scopes, credentials, signal }, stale);
      return `Bearer ${token}`;
    }
    return undefined;
  }

  /**
   * Determines how to reach the registry and which authentication it requires: https, then plain
   * HTTP if allowed. Uses the response to /v2/ rather than later ones, because some registries
   * (gcr.io) send a challenge only there.
   */
  async #connect(signal: AbortSignal): Promise<Contact> {
    const { registry } = this.ref;
    const { insecure } = this.#options.peer;
    const host = registry === "docker.io" ? "registry-1.docker.io" : registry;
    try {
      return await this.#ping(new URL(`https://${host}`), signal, insecure ? 1 : undefined).catch((err: unknown) => {
        if (!insecure || signal.aborted) throw err;
        return this.#ping(new URL(`http://${host}`), signal, undefined);
      });
    } catch (err) {
      signal.throwIfAborted();
      throw new Error(`pinging container registry ${host}: ${(err as Error).message}`, { cause: err });
    }
  }

  async #ping(base: URL, signal: AbortSignal, attempts: number | undefined): Promise<Contact> {
    const url = new URL("/v2/", base);
    const response = await this.#options.transport.send({ method: "GET", url, peer: this.#options.peer, signal, attempts });
    if (response.status !== 200 && response.status !== 401) throw await readRegistryError(response);
    await response.body.dump();
    return { base, challenges: response.foreign ? [] : parseChallenges(response.headers["www-authenticate"]) };
  }
}

async function createPrefixedError(doing: string, response: RegistryResponse): Promise<RegistryError> {
  const err = await readRegistryError(response);
  return new RegistryError(`${doing}: ${err.message}`, err.status, err.retryAfterMs);
}

const OK = 200;

/**
 * Checks whether a repository has a manifest: with HEAD, and with GET if the response is not
 * definite.
 * @throws as `Repository.manifest` if it does not exist
 */
export async function checkManifestExists(repository: Repository, tagOrDigest: string, limit: number, signal: AbortSignal): Promise<void> {
  const { digest } = await repository.headManifest(tagOrDigest, signal);
  if (digest !== undefined) return;
  await repository.manifest(tagOrDigest, limit, signal);
}

/** A manifest that refers to another one in its `subject` field. */
export interface Referrer {
  readonly digest: string;
  readonly artifactType: string;
  /** entry in the list of referrers */
  readonly descriptor: Descriptor;
}

const Typed = z.looseObject({ artifactType: z.string().default("") });
/** HTTP status codes from registries without a referrers endpoint. */
const UNKNOWN = new Set([400, 404, 405, 406]);

/** Most pages of a list of referrers; registries list 50 or more on a page. */
const PAGES_MAX = 100;

/**
 * Returns the referrers of a manifest in the registry's order; from the fallback tag if the
 * registry has no such endpoint.
 * @param limit most bytes of all pages
 * @throws ImageContentError if the list is invalid; RegistryError or Error if the registry fails
 * @see https://github.com/opencontainers/distribution-spec/blob/main/spec.md#listing-referrers
 */
export async function listReferrers(repository: Repository, digest: string, limit: number, signal: AbortSignal): Promise<Referrer[]> {
  const found: Referrer[] = [];
  let left = limit;
  let next: URL | undefined = new URL(`/v2/${repository.ref.repository}/referrers/${digest}`, await repository.base(signal));
  for (let pages = 0; next; pages++) {
    if (pages === PAGES_MAX) throw new Error(`the list of referrers has more than ${PAGES_MAX} pages`);
    const page: ReferrersPage | undefined = await requestReferrers(repository, next, left, signal);
    if (!page && pages === 0) return readReferrersTag(repository, digest, limit, signal);
    if (!page) throw new Error(`page ${pages + 1} of the list of referrers does not exist`);
    found.push(...parseReferrers(page.bytes));
    left -= page.bytes.byteLength;
    next = page.next;
  }
  return found;
}

/** Parses a list of referrers, in its order. @throws ImageContentError if it is invalid */
export function parseReferrers(bytes: Uint8Array): Referrer[] {
  const index = parseManifest(bytes, MediaType.ociIndex);
  if (index.kind !== "index") throw new ImageContentError("the referrers response is not an image index");
  return index.manifests.map((entry) => ({
    digest: entry.digest,
    artifactType: Typed.safeParse(entry).data?.artifactType ?? "",
    descriptor: entry,
  }));
}

interface ReferrersPage {
  readonly bytes: Buffer;
  readonly next: URL | undefined;
}

/** Returns undefined if the registry does not have this endpoint. */
async function requestReferrers(repository: Repository, url: URL, limit: number, signal: AbortSignal): Promise<ReferrersPage | undefined> {
  const response = await repository.request({ method: "GET", path: url, headers: { accept: MediaType.ociIndex }, signal });
  if (response.status === 200) return { bytes: await readBounded(response.body, limit), next: findNextPage(response, url) };
  const err = await readRegistryError(response);
  if (UNKNOWN.has(response.status)) return undefined;
  throw err;
}

/** Returns the address in header Link. @throws Error if it is at another server, which must not get the credentials */
function findNextPage({ headers: { link = [] } }: RegistryResponse, url: URL): URL | undefined {
  const target = /<([^>]*)>\s*;[^,]*\brel="?next"?/i.exec([link].flat().join(", "))?.[1];
  if (target === undefined) return undefined;
  const next = URL.parse(target, url.href);
  if (next?.origin !== url.origin) throw new Error("the list of referrers continues at another server");
  return next;
}

async function readReferrersTag(repository: Repository, digest: string, limit: number, signal: AbortSignal): Promise<Referrer[]> {
  const manifest = await repository.findManifest(digest.replace(":", "-"), limit, signal);
  return manifest ? parseReferrers(manifest.bytes) : [];
}
