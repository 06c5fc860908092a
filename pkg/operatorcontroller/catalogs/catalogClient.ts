import { rootCertificates } from "node:tls";
import { Agent, type Dispatcher, ProxyAgent, request } from "undici";
import { Deadline } from "../../deadline/deadline.ts";
import { messageOf } from "../../errors/errors.ts";
import { packageContent } from "../../fbc/content.ts";
import { decodeMetas } from "../../fbc/decode.ts";
import type { Meta, PackageContent } from "../../fbc/types.ts";
import { failureOf } from "../../oci/networkError.ts";
import { proxyFor } from "../../oci/proxy.ts";
import { type OfferIndex, OfferIndexBuilder } from "../../resolve/offers/offerIndex.ts";
import type { TlsSettings } from "../../serving/tlsProfile.ts";
import { slim } from "../slimMeta.ts";
import { type Authorities, AuthorityFolder, type AuthoritySource, authoritiesOf } from "./authorityFolder.ts";
import type { KnownPackage } from "./catalogContents.ts";
import type { KnownOffers } from "./catalogOffers.ts";

const REQUEST_TIMEOUT_MS = 5 * 60_000;
/** What is kept of one package; the largest real one has below 40 MB. */
const MAX_PACKAGE_BYTES = 256 * 1024 * 1024;
/** Answers of our catalogd name the content they come from. */
const DIGEST_HEADER = "olm-catalog-digest";
/** Where a catalog tells what its bundles say to a dependency solver, the shortest answer first; the Go catalogd knows the last, or the last two. */
const OFFER_PATHS = ["/properties", "/api/v1/metas?schema=olm.bundle", "/api/v1/all"] as const;

/** The answer of a catalog was not 200. */
export class UnexpectedStatus extends Error {
  override readonly name = "UnexpectedStatus";
  readonly status: number;

  constructor(status: number) {
    super(`error: received unexpected response status code ${status}`);
    this.status = status;
  }
}

/** The answer comes from other content than the catalog's status names: a replica that lags behind, or a status that does. */
export class UnexpectedContent extends Error {
  override readonly name = "UnexpectedContent";

  constructor(got: string, want: string) {
    super(`it answers from ${got} while status.resolvedSource says ${want}`);
  }
}

/** One reading of a package. */
interface Reading {
  readonly ref: string | undefined;
  readonly signal: AbortSignal;
  /** Entity tags that are known, by path; replaced by those of the answers. */
  readonly tags: Map<string, string>;
}

/** Options of CatalogClient. */
export interface CatalogClientOptions {
  /** Folder of PEM files trusted beside the system's roots, read again when they change. */
  caDir?: string | undefined;
  /** Others that are trusted as well. */
  authorities?: AuthoritySource | undefined;
  /** A package of which more would have to be kept is refused. */
  maxPackageBytes?: number;
  /** Says which proxies there are; default: that of the process. */
  env?: NodeJS.ProcessEnv;
  /** Versions, ciphers and curves to speak to catalogs with, as they are by then; default: Node's own. */
  tls?: () => TlsSettings;
}

/**
 * Reads single packages from the catalog HTTP API over keep-alive pools, through the proxies that the environment names.
 * The metas endpoint is asked first; a server without it (404) is read by `/all`, keeping only the package.
 */
export class CatalogClient {
  readonly #env: NodeJS.ProcessEnv;
  readonly #tls: () => Partial<TlsSettings>;
  readonly #authorities: readonly AuthoritySource[];
  readonly #maxPackageBytes: number;
  /** By address of the proxy; "" is none. */
  readonly #pools = new Map<string, Dispatcher>();
  /** Of the authorities that the pools trust, and the settings that they have. */
  #trusted = "";

  constructor({ caDir, authorities, maxPackageBytes = MAX_PACKAGE_BYTES, env = process.env, tls }: CatalogClientOptions = {}) {
    this.#maxPackageBytes = maxPackageBytes;
    this.#env = env;
    this.#tls = tls ?? (() => ({}));
    this.#authorities = [...(caDir ? [new AuthorityFolder(caDir)] : []), ...(authorities ? [authorities] : [])];
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
    using deadline = new Deadline(signal, REQUEST_TIMEOUT_MS);
    try {
      const metas = await this.#packageMetas(base, packageName, { ref, signal: deadline.signal, tags: known?.tags ?? new Map() });
      if (metas === "unchanged") return known?.content;
      const content = packageContent(metas, packageName);
      const empty =
        !content.package && content.channels.length + content.bundles.length + content.deprecations.length + content.others === 0;
      return empty ? undefined : content;
    } catch (err) {
      signal.throwIfAborted();
      if (err instanceof UnexpectedStatus || err instanceof UnexpectedContent) throw err;
      throw new Error(`error performing request: ${messageOf(err)}`, { cause: err });
    }
  }

  /**
   * What the catalog at `base` offers to those who depend on something. The properties endpoint is asked; a server without it (404) is asked for
   * its bundles, and one without that for everything.
   * @param ref of the content wanted, by digest.
   * @param known what was read before, with the entity tag of the answer; given again where the server says by it that it has not changed.
   * @throws as `packageContent` does.
   */
  async offers(base: string, ref: string, signal: AbortSignal, known?: KnownOffers): Promise<KnownOffers> {
    using deadline = new Deadline(signal, REQUEST_TIMEOUT_MS);
    try {
      const tags = new Map(known?.tags);
      for (const path of OFFER_PATHS) {
        try {
          const index = await this.#offersAt(new URL(base + path), { ref, signal: deadline.signal, tags });
          return { index: index ?? known?.index ?? new OfferIndexBuilder().build(), tags };
        } catch (err) {
          tags.clear();
          if (!(err instanceof UnexpectedStatus) || err.status !== 404 || path === OFFER_PATHS.at(-1)) throw err;
        }
      }
      throw new UnexpectedStatus(404);
    } catch (err) {
      signal.throwIfAborted();
      if (err instanceof UnexpectedStatus || err instanceof UnexpectedContent) throw err;
      throw new Error(`error performing request: ${messageOf(err)}`, { cause: err });
    }
  }

  /** Ends all connections, those in use included. */
  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
  }

  async #packageMetas(base: string, packageName: string, reading: Reading): Promise<Meta[] | "unchanged"> {
    const name = encodeURIComponent(packageName);
    const ofPackageUrl = `${base}/api/v1/metas?package=${name}`;
    const packagesUrl = `${base}/api/v1/metas?schema=olm.package&name=${name}`;
    const read = (url: string, tags = reading.tags): Promise<Meta[] | undefined> => this.#metas(url, () => true, { ...reading, tags });
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
      return (await this.#metas(`${base}/api/v1/all`, (meta) => ownerOf(meta) === packageName, reading)) ?? "unchanged";
    }
  }

  /** @returns undefined when the answer is the one whose tag is known. */
  async #metas(url: string, keep: (meta: Meta) => boolean, reading: Reading): Promise<Meta[] | undefined> {
    const read = await this.#open(new URL(url), reading);
    if (!read) return undefined;
    const metas: Meta[] = [];
    let left = this.#maxPackageBytes;
    for await (const meta of read) {
      if (!keep(meta)) continue;
      const kept = slim(meta);
      left -= JSON.stringify(kept.blob).length;
      if (left < 0) throw new Error(`the package is larger than ${this.#maxPackageBytes} bytes`);
      metas.push(kept);
    }
    return metas;
  }

  /** @returns undefined when the answer is the one whose tag is known. */
  async #offersAt(url: URL, reading: Reading): Promise<OfferIndex | undefined> {
    const lines = await this.#open(url, reading);
    if (!lines) return undefined;
    const builder = new OfferIndexBuilder();
    for await (const line of lines) builder.add(line);
    return builder.build();
  }

  /** The lines of an answer; undefined when it is the one whose tag is known. */
  async #open(at: URL, { ref, signal, tags }: Reading): Promise<AsyncIterable<Meta> | undefined> {
    const path = at.pathname + at.search;
    const known = tags.get(path);
    const answer = await this.#get(at, signal, known === undefined ? {} : { "if-none-match": known });
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
    return decodeMetas(answer.body, at.pathname);
  }

  async #get(url: URL, signal: AbortSignal, condition: Record<string, string>): Promise<Dispatcher.ResponseData> {
    const proxy = proxyFor(url, this.#env);
    const dispatcher = this.#pool(proxy, await this.#trustedNow());
    try {
      return await request(url, { dispatcher, signal, headers: { accept: "application/jsonl", ...condition } });
    } catch (err) {
      throw failureOf("GET", url, err, proxy);
    }
  }

  /** Undefined where only the system's roots are trusted. */
  async #trustedNow(): Promise<Authorities | undefined> {
    const [first, ...more] = await Promise.all(this.#authorities.map((source) => source.current()));
    return first && more.length > 0 ? authoritiesOf([first, ...more].flatMap(({ certificates }) => certificates)) : first;
  }

  /** Pools that trust other authorities than these, or have other settings, end with their last request. */
  #pool(proxy: URL | undefined, authorities: Authorities | undefined): Dispatcher {
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
    const options = { keepAliveTimeout: 30_000, connections: 16 };
    const tls = { ...settings, ...(certificates ? { ca: [...rootCertificates, ...certificates] } : {}) };
    const pool = proxy ? new ProxyAgent({ ...options, uri: proxy.href, requestTls: tls }) : new Agent({ ...options, connect: tls });
    this.#pools.set(key, pool);
    return pool;
  }
}

function ownerOf(meta: Meta): string {
  return meta.schema === "olm.package" ? meta.name : meta.package;
}
