import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { type Clock, Deadline, systemClock } from "../../async/clock.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { selectPackage } from "../../fbc/content.ts";
import { decodeMetas } from "../../fbc/decode.ts";
import type { Meta, PackageContent } from "../../fbc/types.ts";
import { goQuote } from "../../golang/quote.ts";
import type { HttpResponse } from "../../http/types.ts";
import { type BundleIndex, BundleIndexBuilder } from "../../resolve/dependencies/bundleIndex.ts";
import type { KnownBundleIndex } from "./catalogBundleIndexes.ts";
import { CatalogConnections, type CatalogConnectionsOptions, type CatalogRequests } from "./catalogConnections.ts";
import { type KnownPackage, UnexpectedContent, UnexpectedStatus } from "./catalogPackages.ts";
import type { ReadLimits, ReadTask } from "./responseReader.ts";
import { ResponseThread } from "./responseThread.ts";

const REQUEST_TIMEOUT_MS = 5 * 60_000;
const MIB = 1024 * 1024;
/** For comparison: the largest public package has less than 70 MB and no object larger than 1.3 MB. Of it, 260 KB and 15,000 values are kept. */
const PACKAGE_LIMITS: PackageReadLimits = {
  answerBytes: 140 * MIB,
  objectBytes: 4 * MIB,
  objectValues: 200_000,
  keptBytes: 8 * MIB,
  keptValues: 250_000,
  catalogBytes: 2_048 * MIB,
  catalogObjects: 500_000,
};
/** Maximum length of an error response that is read, in bytes. */
const MAX_ERROR_BYTES = 16 * 1024;
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
  /** The response with all objects of a catalog, decompressed. For comparison: the largest public catalog has 540 MB and 20,000 objects. */
  readonly catalogBytes: number;
  readonly catalogObjects: number;
}

/** Thrown if a catalog cannot be requested at all, or responds with another status than 200. The content of the catalog is not the reason. */
export class CatalogUnreachable extends Error {
  override readonly name = "CatalogUnreachable";
}

/** The options of a CatalogClient. */
export interface CatalogClientOptions extends CatalogConnectionsOptions {
  limits?: Partial<PackageReadLimits>;
  clock?: Clock;
  /** Replaces the connections; the client closes it. */
  requests?: CatalogRequests;
}

/**
 * Reads single packages and bundle indexes from the catalog HTTP API over keep-alive connections, through the proxies in the environment. Requests a
 * package from the metas endpoint. If the server does not have this endpoint (404), reads `/all` and keeps only the package.
 */
export class CatalogClient {
  readonly #connections: CatalogRequests;
  readonly #limits: PackageReadLimits;
  readonly #thread: ResponseThread;

  constructor({ limits = {}, clock = systemClock, requests, ...connections }: CatalogClientOptions = {}) {
    this.#limits = { ...PACKAGE_LIMITS, ...limits };
    this.#thread = new ResponseThread(clock);
    this.#connections = requests ?? new CatalogConnections(connections);
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

  /**
   * Reads all objects of the catalog at `base`, with all their members, one at a time.
   * @param ref digest reference of the expected content, from status.resolvedSource.
   * @throws CatalogUnreachable before the first object; UnexpectedContent, ContentError, and an Error for a response that is too large or breaks off;
   * the signal's reason when it aborts.
   */
  async *allMetas(base: string, ref: string, signal: AbortSignal): AsyncGenerator<Meta> {
    using deadline = new Deadline(signal, REQUEST_TIMEOUT_MS);
    const url = URL.parse(`${base}/api/v1/all`);
    if (!url) throw new CatalogUnreachable(`${goQuote(base)} is not a URL`);
    let response: HttpResponse;
    try {
      response = await this.#connections.get(url, deadline.signal, { "accept-encoding": "gzip" });
      if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}: ${await readErrorText(response)}`);
    } catch (err) {
      signal.throwIfAborted();
      throw new CatalogUnreachable(getErrorMessage(err), { cause: err });
    }
    await requireContent(response, ref);
    const { objectBytes, objectValues, catalogBytes, catalogObjects } = this.#limits;
    const bytes = limitBytes(catalogBytes, decompress(response));
    let objects = 0;
    for await (const meta of decodeMetas(bytes, url.pathname, { maxDocumentBytes: objectBytes, maxValues: objectValues })) {
      if (++objects > catalogObjects) throw new Error(`the response is too large: more than ${catalogObjects} objects`);
      yield meta;
    }
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
    if (ref !== undefined) await requireContent(response, ref);
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

/** Requires that a response contains the content of `ref`, if the server sends a digest. @throws UnexpectedContent */
async function requireContent({ headers, body }: HttpResponse, ref: string): Promise<void> {
  const digest = headers[DIGEST_HEADER];
  if (typeof digest !== "string" || ref.endsWith(`@${digest}`)) return;
  await body.dump();
  throw new UnexpectedContent(digest, ref);
}

/** Returns the decompressed body of a response to a request that accepts gzip. */
function decompress({ headers, body }: HttpResponse): AsyncIterable<Uint8Array> {
  // Errors of the body destroy the decompressor, whose reader gets them.
  return headers["content-encoding"] === "gzip" ? pipeline(body, createGunzip(), () => undefined) : body;
}

/** Returns the message of an error response: of a Status of the API server, or its text. */
export async function readErrorText({ body }: HttpResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of limitBytes(MAX_ERROR_BYTES, body)) chunks.push(chunk);
  } catch (err) {
    return getErrorMessage(err);
  }
  const text = Buffer.concat(chunks).toString("utf8").trim();
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    return typeof message === "string" ? message : text;
  } catch {
    return text;
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
