import { rootCertificates } from "node:tls";
import { type Clock, Deadline, systemClock } from "../../async/clock.ts";
import { messageOf } from "../../errors/errors.ts";
import { packageContent } from "../../fbc/content.ts";
import type { Meta, PackageContent } from "../../fbc/types.ts";
import { openConnections } from "../../http/connections.ts";
import type { Connections, HttpResponse } from "../../http/types.ts";
import { failureOf } from "../../oci/registry/networkError.ts";
import { proxyFor } from "../../oci/registry/proxy.ts";
import { type BundleIndex, BundleIndexBuilder } from "../../resolve/dependencies/bundleIndex.ts";
import type { TlsSettings } from "../../serving/tlsProfile.ts";
import type { KnownBundleIndex } from "./catalogBundleIndexes.ts";
import { type KnownPackage, UnexpectedContent, UnexpectedStatus } from "./catalogPackages.ts";
import { type Authorities, AuthorityFolder, type AuthoritySource, authoritiesOf } from "./certificateAuthorities.ts";
import type { ReadLimits, ReadTask } from "./responseReader.ts";
import { ResponseThread } from "./responseThread.ts";

/** Whom to trust, and how to speak to catalogs. */
interface CatalogConnectionsOptions {
  /** Folder of PEM files trusted beside the system's roots, read again when they change. */
  caDir?: string | undefined;
  /** Others that are trusted as well. */
  authorities?: AuthoritySource | undefined;
  /** Says which proxies there are; default: that of the process. */
  env?: NodeJS.ProcessEnv;
  /** Versions, ciphers and curves to speak to catalogs with, as they are by then; default: Node's own. */
  tls?: () => TlsSettings;
  /** Longest wait for the next bytes of a response, in milliseconds. Default 30 s. */
  silenceMs?: number;
}

/** A reconcile waits no longer for a catalogd that hangs, and neither does the deletion of its extension. */
const MAX_SILENCE_MS = 30_000;

/** Keep-alive connections to catalogs, through the proxies that the environment names; new ones follow the authorities and settings. */
class CatalogConnections {
  readonly #env: NodeJS.ProcessEnv;
  readonly #tls: () => Partial<TlsSettings>;
  readonly #silenceMs: number;
  readonly #authorities: readonly AuthoritySource[];
  /** By address of the proxy; "" is none. */
  readonly #pools = new Map<string, Connections>();
  /** Of the authorities that the pools trust, and the settings that they have. */
  #trusted = "";

  constructor({ caDir, authorities, env = process.env, tls, silenceMs = MAX_SILENCE_MS }: CatalogConnectionsOptions = {}) {
    this.#env = env;
    this.#tls = tls ?? (() => ({}));
    this.#silenceMs = silenceMs;
    this.#authorities = [...(caDir ? [new AuthorityFolder(caDir)] : []), ...(authorities ? [authorities] : [])];
  }

  /**
   * The answer to a GET of JSON Lines, whatever its status. The caller must consume its body.
   * @param headers sent beside `accept`.
   * @throws as `failureOf` tells it when there is no answer.
   */
  async get(url: URL, signal: AbortSignal, headers: Record<string, string>): Promise<HttpResponse> {
    const proxy = proxyFor(url, this.#env);
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
      throw failureOf("GET", url, err, proxy);
    }
  }

  /** Ends all connections, those in use included. */
  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
  }

  /** Undefined where only the system's roots are trusted. */
  async #trustedNow(): Promise<Authorities | undefined> {
    const [first, ...more] = await Promise.all(this.#authorities.map((source) => source.current()));
    return first && more.length > 0 ? authoritiesOf([first, ...more].flatMap(({ certificates }) => certificates)) : first;
  }

  /** Pools that trust other authorities than these, or have other settings, end with their last request. */
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
/** The largest public package has less than 70 MB, of which 260 KB and 15,000 values are kept, and no object above 1.3 MB. */
const PACKAGE_LIMITS: PackageReadLimits = {
  answerBytes: 140 * MIB,
  objectBytes: 4 * MIB,
  objectValues: 200_000,
  keptBytes: 8 * MIB,
  keptValues: 250_000,
};
/** Answers of our catalogd name the content they come from. */
const DIGEST_HEADER = "olm-catalog-digest";
/** Where a catalog tells what its bundles say to a dependency solver, the shortest answer first; the Go catalogd knows the last, or the last two. */
const OFFER_PATHS = ["/properties", "/api/v1/metas?schema=olm.bundle", "/api/v1/all"] as const;

/** One reading of a package. */
interface Reading {
  readonly ref: string | undefined;
  readonly signal: AbortSignal;
  /** Entity tags that are known, by path; replaced by those of the answers. */
  readonly tags: Map<string, string>;
}

/** How large a package may be; a larger one is refused. */
export interface PackageReadLimits extends ReadLimits {
  /** The response of the catalog about one package. */
  readonly answerBytes: number;
}

/** How catalogs are reached, and how much is accepted of one package. */
export interface CatalogClientOptions extends CatalogConnectionsOptions {
  limits?: Partial<PackageReadLimits>;
  clock?: Clock;
}

/**
 * Reads single packages from the catalog HTTP API over keep-alive pools, through the proxies that the environment names.
 * The metas endpoint is asked first; a server without it (404) is read by `/all`, keeping only the package.
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
   * What the catalog at `base` says about one package; undefined when it does not hold the package.
   * @param ref of the content wanted, by digest, as status.resolvedSource says it; undefined: whatever is served.
   * @param known what was read of the same package before; given again where the server says by its tags that it has not changed.
   * @throws UnexpectedStatus, UnexpectedContent, or an Error whose text begins with "error performing request: "; the signal's reason when it aborts.
   */
  async packageContent(
    base: string,
    ref: string | undefined,
    packageName: string,
    signal: AbortSignal,
    known?: KnownPackage,
  ): Promise<PackageContent | undefined> {
    const tags = known?.tags ?? new Map<string, string>();
    return inTime(signal, async (until) => {
      const metas = await this.#packageMetas(base, packageName, { ref, signal: until, tags });
      if (metas === "unchanged") return known?.content;
      const content = packageContent(metas, packageName);
      const { package: head, channels, bundles, deprecations, others } = content;
      const isEmpty = !head && channels.length + bundles.length + deprecations.length + others === 0;
      return isEmpty ? undefined : content;
    });
  }

  /**
   * What the catalog at `base` offers to those who depend on something. The properties endpoint is asked; a server without it (404) is asked for
   * its bundles, and one without that for everything.
   * @param ref of the content wanted, by digest.
   * @param known what was read before, with the entity tag of the answer; given again where the server says by it that it has not changed.
   * @throws as `packageContent` does.
   */
  async bundleIndex(base: string, ref: string, signal: AbortSignal, known?: KnownBundleIndex): Promise<KnownBundleIndex> {
    const tags = new Map(known?.tags);
    const index = await inTime(signal, (until) => this.#readIndex(base, { ref, signal: until, tags }));
    return { index: index ?? known?.index ?? new BundleIndexBuilder().build(), tags };
  }

  /** Ends all connections, those in use included, and the thread that reads large responses. */
  async close(): Promise<void> {
    await Promise.all([this.#connections.close(), this.#thread.end()]);
  }

  async #packageMetas(base: string, packageName: string, reading: Reading): Promise<Meta[] | "unchanged"> {
    const name = encodeURIComponent(packageName);
    const ofPackageUrl = `${base}/api/v1/metas?package=${name}`;
    const packagesUrl = `${base}/api/v1/metas?schema=olm.package&name=${name}`;
    const wanted = { kind: "package", name: packageName } as const;
    const { answerBytes } = this.#limits;
    const read = async (url: string, tags = reading.tags, maxBytes = answerBytes): Promise<Meta[] | undefined> => {
      const metas = await this.#open(new URL(url), wanted, { ...reading, tags }, maxBytes);
      return metas && (await Array.fromAsync(metas));
    };
    // One of the two may have changed without the other: both are needed then, and the tag of what had not is still right.
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

  /** @returns undefined when the answer is the one whose tag is known. */
  async #readIndex(base: string, reading: Reading): Promise<BundleIndex | undefined> {
    for (const path of OFFER_PATHS) {
      try {
        return await this.#readIndexAt(new URL(base + path), reading);
      } catch (err) {
        reading.tags.clear();
        if (!(err instanceof UnexpectedStatus) || err.status !== 404) throw err;
      }
    }
    throw new UnexpectedStatus(404);
  }

  async #readIndexAt(url: URL, reading: Reading): Promise<BundleIndex | undefined> {
    const lines = await this.#open(url, { kind: "bundleIndex" }, reading, Number.POSITIVE_INFINITY);
    if (!lines) return undefined;
    const builder = new BundleIndexBuilder();
    for await (const line of lines) builder.add(line);
    return builder.build();
  }

  /**
   * Requests `at`, and returns the wanted objects of the response; undefined when it is the one whose tag is known.
   * @param maxBytes limit of the response.
   */
  async #open(
    at: URL,
    wanted: ReadTask["wanted"],
    { ref, signal, tags }: Reading,
    maxBytes: number,
  ): Promise<AsyncIterable<Meta> | undefined> {
    const path = at.pathname + at.search;
    const known = tags.get(path);
    const answer = await this.#connections.get(at, signal, known === undefined ? {} : { "if-none-match": known });
    const unchanged = answer.statusCode === 304 && known !== undefined;
    if (answer.statusCode !== 200 && !unchanged) {
      await answer.body.dump();
      throw new UnexpectedStatus(answer.statusCode);
    }
    const digest = answer.headers[DIGEST_HEADER];
    if (ref !== undefined && typeof digest === "string" && !ref.endsWith(`@${digest}`)) {
      await answer.body.dump();
      throw new UnexpectedContent(digest, ref);
    }
    if (unchanged) {
      await answer.body.dump();
      return undefined;
    }
    const { etag } = answer.headers;
    if (typeof etag === "string") tags.set(path, etag);
    else tags.delete(path);
    return this.#thread.read({ path: at.pathname, wanted, limits: this.#limits }, within(maxBytes, answer.body));
  }
}

/** @throws an Error whose text begins with "error performing request: " for what ends `work` otherwise than by an answer, or too late. */
async function inTime<T>(signal: AbortSignal, work: (until: AbortSignal) => Promise<T>): Promise<T> {
  using deadline = new Deadline(signal, REQUEST_TIMEOUT_MS);
  try {
    return await work(deadline.signal);
  } catch (err) {
    signal.throwIfAborted();
    if (err instanceof UnexpectedStatus || err instanceof UnexpectedContent) throw err;
    throw new Error(`error performing request: ${messageOf(err)}`, { cause: err });
  }
}

/** Passes chunks on. @throws Error after more than `maxBytes`. */
async function* within(maxBytes: number, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new Error(`the package is larger than the ${maxBytes} bytes allowed`);
    yield chunk;
  }
}
