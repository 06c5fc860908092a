import { rootCertificates } from "node:tls";
import { type Clock, Deadline, systemClock } from "../../async/clock.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { selectPackage } from "../../fbc/content.ts";
import type { Meta, PackageContent } from "../../fbc/types.ts";
import { openConnections } from "../../http/connections.ts";
import type { Connections, HttpResponse } from "../../http/types.ts";
import { createRequestError } from "../../oci/registry/networkError.ts";
import { getProxyFor } from "../../oci/registry/proxy.ts";
import { type BundleIndex, BundleIndexBuilder } from "../../resolve/dependencies/bundleIndex.ts";
import type { TlsSettings } from "../../serving/tlsProfile.ts";
import type { KnownBundleIndex } from "./catalogBundleIndexes.ts";
import { type KnownPackage, UnexpectedContent, UnexpectedStatus } from "./catalogPackages.ts";
import { type Authorities, AuthorityFolder, type AuthoritySource, parseAuthorities } from "./certificateAuthorities.ts";
import type { ReadLimits, ReadTask } from "./responseReader.ts";
import { ResponseThread } from "./responseThread.ts";

/** The options of connections to catalogs. */
interface CatalogConnectionsOptions {
  /** Folder of PEM files with CAs to trust in addition to the system's roots. The files are read again when they change. */
  caDir?: string | undefined;
  /** More CAs to trust. */
  authorities?: AuthoritySource | undefined;
  /** Environment variables that configure the proxies. Default: the environment of the process. */
  env?: NodeJS.ProcessEnv;
  /** Returns the current TLS versions, ciphers and curves. Default: the defaults of Node.js. */
  tls?: () => TlsSettings;
  /** Maximum time to wait for the next bytes of a response, in milliseconds. Default: 30 s. */
  silenceMs?: number;
}

/** Limits how long an unresponsive catalogd blocks a reconcile or the deletion of an extension. */
const MAX_SILENCE_MS = 30_000;

/** Keep-alive connections to catalogs, through the proxies in the environment. New connections use the current CAs and TLS settings. */
class CatalogConnections {
  readonly #env: NodeJS.ProcessEnv;
  readonly #tls: () => Partial<TlsSettings>;
  readonly #silenceMs: number;
  readonly #authorities: readonly AuthoritySource[];
  /** By proxy address; "" without a proxy. */
  readonly #pools = new Map<string, Connections>();
  /** Fingerprint of the CAs and TLS settings that the pools use. */
  #trusted = "";

  constructor({ caDir, authorities, env = process.env, tls, silenceMs = MAX_SILENCE_MS }: CatalogConnectionsOptions = {}) {
    this.#env = env;
    this.#tls = tls ?? (() => ({}));
    this.#silenceMs = silenceMs;
    this.#authorities = [...(caDir ? [new AuthorityFolder(caDir)] : []), ...(authorities ? [authorities] : [])];
  }

  /**
   * Sends a GET request for JSON Lines, and returns the response with any status. The caller must consume its body.
   * @param headers sent in addition to `accept`.
   * @throws the error of `createRequestError` if there is no response.
   */
  async get(url: URL, signal: AbortSignal, headers: Record<string, string>): Promise<HttpResponse> {
    const proxy = getProxyFor(url, this.#env);
    const connections = this.#pool(proxy, await this.#trustedNow());
    try {
      return await connections.request(url, {
        method: "GET",
        signal,
        headers: { accept: "application/jsonl", ...headers },
        headersTimeoutMs: this.#silenceMs,
        bodyTimeoutMs: this.#silenceMs,
      });
    } catch (err) {
      throw createRequestError("GET", url, err, proxy);
    }
  }

  /** Ends all connections, including those in use. */
  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
  }

  /** Returns the current CAs; undefined if only the system's roots are trusted. */
  async #trustedNow(): Promise<Authorities | undefined> {
    const [first, ...more] = await Promise.all(this.#authorities.map((source) => source.current()));
    return first && more.length > 0 ? parseAuthorities([first, ...more].flatMap(({ certificates }) => certificates)) : first;
  }

  /** Returns the pool for a proxy. Pools with outdated CAs or settings close after their last request. */
  #pool(proxy: URL | undefined, authorities: Authorities | undefined): Connections {
    const { fingerprint = "", certificates } = authorities ?? {};
    const settings = this.#tls();
    const trusted = `${fingerprint} ${JSON.stringify(settings)}`;
    if (trusted !== this.#trusted) {
      for (const pool of this.#pools.values()) void pool.close().catch(() => undefined);
      this.#pools.clear();
      this.#trusted = trusted;
    }
    const key = proxy?.href ?? "";
    const known = this.#pools.get(key);
    if (known) return known;
    const tls = { ...settings, ...(certificates ? { ca: [...rootCertificates, ...certificates] } : {}) };
    const pool = openConnections({ tls, proxy: proxy?.href, perServer: 16, keepAliveMs: 30_000 });
    this.#pools.set(key, pool);
    return pool;
  }
}

const REQUEST_TIMEOUT_MS = 5 * 60_000;
const MIB = 1024 * 1024;
/** For comparison: the largest public package has less than 70 MB and no object larger than 1.3 MB. Of it, 260 KB and 15,000 values are kept. */
const PACKAGE_LIMITS: PackageReadLimits = {
  answerBytes: 140 * MIB,
  objectBytes: 4 * MIB,
  objectValues: 200_000,
  keptBytes: 8 * MIB,
  keptValues: 250_000,
};
/** The response header in which this project's catalogd sends the content digest. */
const DIGEST_HEADER = "olm-catalog-digest";
/** The endpoints that return bundles for the dependency solver, the shortest response first. The Go catalogd has only the last one or two. */
const INDEX_PATHS = ["/properties", "/api/v1/metas?schema=olm.bundle", "/api/v1/all"] as const;

/** A read of a package or a bundle index. */
interface CatalogRead {
  readonly ref: string | undefined;
  readonly signal: AbortSignal;
  /** Known entity tags by path. Replaced by the entity tags of the responses. */
  readonly tags: Map<string, string>;
}

/** The limits of a package. A larger package is rejected. */
export interface PackageReadLimits extends ReadLimits {
  /** The catalog's response for one package. */
  readonly answerBytes: number;
}

/** The options of a CatalogClient. */
export interface CatalogClientOptions extends CatalogConnectionsOptions {
  limits?: Partial<PackageReadLimits>;
  clock?: Clock;
}

/**
 * Reads single packages and bundle indexes from the catalog HTTP API over keep-alive connections, through the proxies in the environment. Requests a
 * package from the metas endpoint. If the server does not have this endpoint (404), reads `/all` and keeps only the package.
 */
export class CatalogClient {
  readonly #connections: CatalogConnections;
  readonly #limits: PackageReadLimits;
  readonly #thread: ResponseThread;

  constructor({ limits = {}, clock = systemClock, ...connections }: CatalogClientOptions = {}) {
    this.#limits = { ...PACKAGE_LIMITS, ...limits };
    this.#thread = new ResponseThread(clock);
    this.#connections = new CatalogConnections(connections);
  }

  /**
   * Reads one package of the catalog at `base`; undefined if the catalog does not contain it.
   * @param ref digest reference of the expected content, from status.resolvedSource; undefined accepts any content.
   * @param known result of the previous read of the package, which is returned if the entity tags match.
   * @throws UnexpectedStatus, UnexpectedContent, or an Error that starts with "error performing request: "; the signal's reason when it aborts.
   */
  async packageContent(
    base: string,
    ref: string | undefined,
    packageName: string,
    signal: AbortSignal,
    known?: KnownPackage,
  ): Promise<PackageContent | undefined> {
    const tags = known?.tags ?? new Map<string, string>();
    return withTimeout(signal, async (until) => {
      const metas = await this.#packageMetas(base, packageName, { ref, signal: until, tags });
      if (metas === "unchanged") return known?.content;
      const content = selectPackage(metas, packageName);
      const { package: head, channels, bundles, deprecations, others } = content;
      const isEmpty = !head && channels.length + bundles.length + deprecations.length + others === 0;
      return isEmpty ? undefined : content;
    });
  }

  /**
   * Reads the bundle index of the catalog at `base`, for dependencies. Requests the properties endpoint. If the server does not have this endpoint
   * (404), requests all bundles, and if that fails with 404, too, the whole catalog.
   * @param ref digest reference of the expected content.
   * @param known result of the previous read, whose index is returned if the entity tags match.
   * @throws the errors of `selectPackage`.
   */
  async bundleIndex(base: string, ref: string, signal: AbortSignal, known?: KnownBundleIndex): Promise<KnownBundleIndex> {
    const tags = new Map(known?.tags);
    const index = await withTimeout(signal, (until) => this.#readIndex(base, { ref, signal: until, tags }));
    return { index: index ?? known?.index ?? new BundleIndexBuilder().build(), tags };
  }

  /** Ends all connections, including those in use, and the thread that reads large responses. */
  async close(): Promise<void> {
    await Promise.all([this.#connections.close(), this.#thread.end()]);
  }

  async #packageMetas(base: string, packageName: string, reading: CatalogRead): Promise<Meta[] | "unchanged"> {
    const name = encodeURIComponent(packageName);
    const ofPackageUrl = `${base}/api/v1/metas?package=${name}`;
    const packagesUrl = `${base}/api/v1/metas?schema=olm.package&name=${name}`;
    const requested = { kind: "package", name: packageName } as const;
    const { answerBytes } = this.#limits;
    const read = async (url: string, tags = reading.tags, maxBytes = answerBytes): Promise<Meta[] | undefined> => {
      const metas = await this.#open(new URL(url), requested, { ...reading, tags }, maxBytes);
      return metas && (await Array.fromAsync(metas));
    };
    // If only one of the two responses has changed, both are needed. The entity tag of the unchanged response stays valid.
    const readWhole = (url: string): Promise<Meta[] | undefined> => read(url, new Map());
    try {
      const [ofPackage, packages] = await Promise.all([read(ofPackageUrl), read(packagesUrl)]);
      if (!ofPackage && !packages) return "unchanged";
      const entries = ofPackage ?? (await readWhole(ofPackageUrl)) ?? [];
      return [...(packages ?? (await readWhole(packagesUrl)) ?? []), ...entries.filter((meta) => meta.schema !== "olm.package")];
    } catch (err) {
      reading.tags.clear();
      if (!(err instanceof UnexpectedStatus) || err.status !== 404) throw err;
      return (await read(`${base}/api/v1/all`, reading.tags, Number.POSITIVE_INFINITY)) ?? "unchanged";
    }
  }

  /** Reads the index from the first endpoint that exists. @returns undefined if it has not changed. */
  async #readIndex(base: string, reading: CatalogRead): Promise<BundleIndex | undefined> {
    for (const path of INDEX_PATHS) {
      try {
        return await this.#readIndexAt(new URL(base + path), reading);
      } catch (err) {
        reading.tags.clear();
        if (!(err instanceof UnexpectedStatus) || err.status !== 404) throw err;
      }
    }
    throw new UnexpectedStatus(404);
  }

  async #readIndexAt(url: URL, reading: CatalogRead): Promise<BundleIndex | undefined> {
    const lines = await this.#open(url, { kind: "bundleIndex" }, reading, Number.POSITIVE_INFINITY);
    if (!lines) return undefined;
    const builder = new BundleIndexBuilder();
    for await (const line of lines) builder.add(line);
    return builder.build();
  }

  /**
   * Requests `at`, and returns the wanted objects in the response; undefined if the entity tag matches.
   * @param maxBytes limit of the response.
   */
  async #open(
    at: URL,
    requested: ReadTask["requested"],
    { ref, signal, tags }: CatalogRead,
    maxBytes: number,
  ): Promise<AsyncIterable<Meta> | undefined> {
    const path = at.pathname + at.search;
    const known = tags.get(path);
    const response = await this.#connections.get(at, signal, known === undefined ? {} : { "if-none-match": known });
    const unchanged = response.statusCode === 304 && known !== undefined;
    if (response.statusCode !== 200 && !unchanged) {
      await response.body.dump();
      throw new UnexpectedStatus(response.statusCode);
    }
    const digest = response.headers[DIGEST_HEADER];
    if (ref !== undefined && typeof digest === "string" && !ref.endsWith(`@${digest}`)) {
      await response.body.dump();
      throw new UnexpectedContent(digest, ref);
    }
    if (unchanged) {
      await response.body.dump();
      return undefined;
    }
    const { etag } = response.headers;
    if (typeof etag === "string") tags.set(path, etag);
    else tags.delete(path);
    return this.#thread.read({ path: at.pathname, requested, limits: this.#limits }, limitBytes(maxBytes, response.body));
  }
}

/**
 * Runs `work` with a time limit. @throws UnexpectedStatus and UnexpectedContent unchanged, and other errors with the prefix "error performing
 * request: ".
 */
async function withTimeout<T>(signal: AbortSignal, work: (until: AbortSignal) => Promise<T>): Promise<T> {
  using deadline = new Deadline(signal, REQUEST_TIMEOUT_MS);
  try {
    return await work(deadline.signal);
  } catch (err) {
    signal.throwIfAborted();
    if (err instanceof UnexpectedStatus || err instanceof UnexpectedContent) throw err;
    throw new Error(`error performing request: ${getErrorMessage(err)}`, { cause: err });
  }
}

/** Yields chunks unchanged. @throws Error after more than `maxBytes`. */
async function* limitBytes(maxBytes: number, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new Error(`the response is too large: more than ${maxBytes} bytes`);
    yield chunk;
  }
}
