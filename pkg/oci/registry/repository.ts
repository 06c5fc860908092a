import * as z from "zod";
import { digestOf, readBounded } from "../digest.ts";
import { ImageContentError } from "../imageErrors.ts";
import { ACCEPTED_MANIFESTS, type Descriptor, MediaType, parseManifest } from "../manifest.ts";
import { nameOf, type Reference } from "../reference.ts";
import type { RegistryCredentials } from "./authFile.ts";
import { RegistryError, registryError } from "./registryError.ts";
import { type Challenge, formatBasicAuth, parseChallenges, type RegistryTokens } from "./tokens.ts";
import { drop, type Peer, type RegistryRequest, type RegistryResponse, type RegistryTransport } from "./transport.ts";

/** A manifest as the registry sent it; its digest was computed from the bytes. */
export interface FetchedManifest {
  readonly bytes: Buffer;
  readonly mediaType: string;
  readonly digest: string;
}

/** What a repository needs to talk to its registry. */
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

/** A request to a repository: below /v2/<repository>/, or to a full address that the registry named. */
export interface RepositoryRequest extends Omit<RegistryRequest, "url" | "peer" | "authorization" | "namedBy"> {
  readonly path: string | URL;
  /** further repositories of the registry that it reads, by their paths */
  readonly reads?: readonly string[];
}

/** What the first contact with a registry showed. */
interface Contact {
  readonly base: URL;
  readonly challenges: readonly Challenge[];
}

/** One repository of one registry, over the distribution API. */
export class Repository {
  readonly ref: Reference;
  /** Another place may have the same content: requests that get no answer in time are not repeated here. */
  readonly hasAlternative: boolean;
  readonly #options: RepositoryOptions;
  #contact: Promise<Contact> | undefined;

  constructor(options: RepositoryOptions) {
    this.ref = options.ref;
    this.hasAlternative = options.hasAlternative ?? false;
    this.#options = options;
  }

  /** Returns this repository, over the same connections, for a caller that has another place to ask or has none. */
  withAlternative(hasAlternative: boolean): Repository {
    if (hasAlternative === this.hasAlternative) return this;
    const other = new Repository({ ...this.#options, hasAlternative });
    other.#contact = this.#contact;
    return other;
  }

  /**
   * Fetches a manifest or an index by tag or digest, and checks it against the digest asked for or announced.
   * @throws RegistryError `reading manifest TAG in NAME: …`; Error for a wrong digest or more than `limit` bytes
   */
  async manifest(tagOrDigest: string, limit: number, signal: AbortSignal): Promise<FetchedManifest> {
    const doing = `reading manifest ${tagOrDigest} in ${nameOf(this.ref)}`;
    const headers = { accept: ACCEPTED_MANIFESTS.join(", ") };
    const answer = await this.request({ method: "GET", path: `manifests/${tagOrDigest}`, headers, signal });
    if (answer.status !== 200) throw await prefixed(doing, answer);
    const bytes = await readBounded(answer.body, limit);
    const announced = answer.headers["docker-content-digest"];
    const want = tagOrDigest.includes(":") ? tagOrDigest : undefined;
    const digest = digestOf(bytes, want);
    const expected = want ?? (typeof announced === "string" && announced.startsWith("sha256:") ? announced : digest);
    if (digest !== expected) throw new Error(`${doing}: Digest did not match, expected ${expected}, got ${digest}`);
    const type = answer.headers["content-type"];
    return { bytes, mediaType: typeof type === "string" ? type.replace(/;.*$/, "").trim() : "", digest };
  }

  /** The same; undefined for a manifest that the repository does not have. @throws as `manifest` otherwise */
  async findManifest(tagOrDigest: string, limit: number, signal: AbortSignal): Promise<FetchedManifest | undefined> {
    try {
      return await this.manifest(tagOrDigest, limit, signal);
    } catch (err) {
      if (err instanceof RegistryError && err.status === 404) return undefined;
      throw err;
    }
  }

  /**
   * Asks for a manifest with HEAD, which registries do not count as a pull. `digest` is undefined where the answer is not a clear yes: some registries
   * and proxies refuse HEAD, or answer it without a digest, and none says why to it.
   */
  async headManifest(tagOrDigest: string, signal: AbortSignal): Promise<{ status: number; digest: string | undefined }> {
    const headers = { accept: ACCEPTED_MANIFESTS.join(", ") };
    const answer = await this.request({ method: "HEAD", path: `manifests/${tagOrDigest}`, headers, signal });
    await answer.body.dump();
    const digest = answer.headers["docker-content-digest"];
    const isIt = typeof digest === "string" && (tagOrDigest.includes(":") ? digest === tagOrDigest : digest !== "");
    return { status: answer.status, digest: answer.status === OK && isIt ? digest : undefined };
  }

  /**
   * Opens a blob from byte `offset` on; the bytes are not checked yet.
   * @returns the answer, and the offset at which its body really starts: 0 when the registry does not do ranges
   * @throws RegistryError `fetching blob: …`
   */
  async blob(blob: Descriptor, offset: number, signal: AbortSignal): Promise<{ body: AsyncIterable<Uint8Array>; offset: number }> {
    const headers: Record<string, string> = offset > 0 ? { range: `bytes=${offset}-` } : {};
    const answer = await this.request({ method: "GET", path: `blobs/${blob.digest}`, headers, signal });
    if (answer.status !== 200 && answer.status !== 206) throw await prefixed("fetching blob", answer);
    const range = answer.headers["content-range"];
    const resumed = answer.status === 206 && typeof range === "string" && range.startsWith(`bytes ${offset}-`);
    if (answer.status === 206 && !resumed) {
      drop(answer);
      throw new Error("fetching blob: the registry sent another part than it was asked for");
    }
    const length = Number(answer.headers["content-length"] ?? Number.NaN);
    const expected = blob.size - (resumed ? offset : 0);
    if (length > expected) {
      drop(answer);
      throw new Error(`fetching blob: it has ${length} bytes, expected ${expected}`);
    }
    return { body: answer.body, offset: resumed ? offset : 0 };
  }

  /**
   * Sends a request below /v2/<repository>/ (or to a full address) with the authorization the registry asked for. When it refuses that, a
   * fresh token, with the scope it names if it names one, is tried once.
   */
  async request(ask: RepositoryRequest): Promise<RegistryResponse> {
    this.#contact ??= this.#connect(ask.signal);
    const { base, challenges } = await this.#contact;
    const url = ask.path instanceof URL ? ask.path : new URL(`/v2/${this.ref.repository}/${ask.path}`, base);
    const foreign = url.origin !== base.origin;
    const { path: _, reads = [], ...rest } = ask;
    const namedBy = foreign ? { namedBy: base } : {};
    const send = (authorization: string | undefined): Promise<RegistryResponse> =>
      this.#options.transport.send({
        leavesSilent: this.hasAlternative,
        ...rest,
        ...namedBy,
        url,
        peer: this.#options.peer,
        authorization,
      });
    const scope = `repository:${this.ref.repository}:${this.#options.actions}`;
    const wanted = [scope, ...reads.map((repository) => `repository:${repository}:pull`)];
    const first = foreign ? undefined : await this.#authorization({ base, challenges }, wanted, ask.signal);
    const answer = await send(first);
    if ((answer.status !== 401 && answer.status !== 403) || answer.foreign || foreign) return answer;
    const given = parseChallenges(answer.headers["www-authenticate"]);
    const lacking = given.find((challenge) => challenge.params.get("error") === "insufficient_scope")?.params.get("scope");
    if (answer.status === 403 && lacking === undefined) return answer;
    const scopes = lacking !== undefined && !wanted.includes(lacking) ? [...wanted, lacking] : wanted;
    const stale = first?.startsWith("Bearer ") ? first.slice("Bearer ".length) : undefined;
    const again = await this.#authorization({ base, challenges: given.length > 0 ? given : challenges }, scopes, ask.signal, stale);
    if (again === undefined || again === first) return answer;
    await answer.body.dump();
    return send(again);
  }

  /** The registry's base address, found on first contact. */
  async base(signal: AbortSignal): Promise<URL> {
    this.#contact ??= this.#connect(signal);
    return (await this.#contact).base;
  }

  /** The header for the first challenge we know how to answer; undefined goes without. */
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
   * Finds out how the registry is reached and what authentication it wants: https, then plain http where that is allowed. The answer to
   * /v2/ counts, not those to later requests, because some registries (gcr.io) challenge only there.
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
    const answer = await this.#options.transport.send({ method: "GET", url, peer: this.#options.peer, signal, attempts });
    if (answer.status !== 200 && answer.status !== 401) throw await registryError(answer);
    await answer.body.dump();
    return { base, challenges: answer.foreign ? [] : parseChallenges(answer.headers["www-authenticate"]) };
  }
}

async function prefixed(doing: string, answer: RegistryResponse): Promise<RegistryError> {
  const err = await registryError(answer);
  return new RegistryError(`${doing}: ${err.message}`, err.status, err.retryAfterMs);
}

const OK = 200;

/**
 * Asks whether a repository has a manifest: with HEAD, and with GET where the answer to that is not a clear yes.
 * @throws as `Repository.manifest`, where there is none
 */
export async function checkManifestExists(repository: Repository, tagOrDigest: string, limit: number, signal: AbortSignal): Promise<void> {
  const { digest } = await repository.headManifest(tagOrDigest, signal);
  if (digest !== undefined) return;
  await repository.manifest(tagOrDigest, limit, signal);
}

/** A manifest that says of itself that it belongs to another one. */
export interface Referrer {
  readonly digest: string;
  readonly artifactType: string;
  /** as the list has it */
  readonly descriptor: Descriptor;
}

const Typed = z.looseObject({ artifactType: z.string().default("") });
/** Answers of registries that do not know the endpoint. */
const UNKNOWN = new Set([400, 404, 405, 406]);

/**
 * What refers to a manifest, in the registry's order; from the tag that stands in for it where the registry has no such endpoint.
 * @throws ImageContentError when the list is none; RegistryError or Error when the registry fails
 * @see https://github.com/opencontainers/distribution-spec/blob/main/spec.md#listing-referrers
 */
export async function referrersOf(repository: Repository, digest: string, limit: number, signal: AbortSignal): Promise<Referrer[]> {
  const bytes = (await asked(repository, digest, limit, signal)) ?? (await tagged(repository, digest, limit, signal));
  return bytes ? referrersIn(bytes) : [];
}

/** Those that a list names, in its order. @throws ImageContentError for what is no list */
export function referrersIn(bytes: Uint8Array): Referrer[] {
  const index = parseManifest(bytes, MediaType.ociIndex);
  if (index.kind !== "index") throw new ImageContentError("the list of referrers is no index");
  return index.manifests.map((entry) => ({
    digest: entry.digest,
    artifactType: Typed.safeParse(entry).data?.artifactType ?? "",
    descriptor: entry,
  }));
}

async function asked(repository: Repository, digest: string, limit: number, signal: AbortSignal): Promise<Buffer | undefined> {
  const answer = await repository.request({ method: "GET", path: `referrers/${digest}`, headers: { accept: MediaType.ociIndex }, signal });
  if (answer.status === 200) return readBounded(answer.body, limit);
  const err = await registryError(answer);
  if (UNKNOWN.has(answer.status)) return undefined;
  throw err;
}

async function tagged(repository: Repository, digest: string, limit: number, signal: AbortSignal): Promise<Buffer | undefined> {
  try {
    return (await repository.manifest(digest.replace(":", "-"), limit, signal)).bytes;
  } catch (err) {
    if (err instanceof RegistryError && err.status === 404) return undefined;
    throw err;
  }
}
