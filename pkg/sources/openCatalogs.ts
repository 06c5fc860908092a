import { stat } from "node:fs/promises";
import { type CachedCatalog, CatalogCache, getFilesKey, getImageKey } from "../catalogcache/catalogCache.ts";
import { getErrorMessage, wrapError } from "../errors/errors.ts";
import type { Meta } from "../fbc/types.ts";
import { goQuote } from "../golang/quote.ts";
import type { Client } from "../kube/client.ts";
import { findLayoutPlace } from "../oci/imagePlace.ts";
import type { BundleReader, ReaderOptions } from "./bundleReader.ts";
import { digestFiles, readCatalogMetas } from "./catalogContent.ts";
import { type CatalogChoice, filterNamedCatalogs, listNamedCatalogs, type NamedCatalog } from "./catalogNames.ts";

/** A catalog that was read. */
export interface OpenCatalog {
  readonly name: string;
  readonly priority: number;
  readonly book: CachedCatalog;
}

/** A catalog that cannot be read, with the reason. */
export interface LeftOutCatalog {
  readonly catalog: string;
  readonly because: string;
}

/** Catalogs that were read, and those that cannot be read. */
export interface OpenCatalogs {
  /** By descending priority, then by name. */
  readonly catalogs: readonly OpenCatalog[];
  readonly leftOut: readonly LeftOutCatalog[];
}

/** Catalogs that stay open until `close`. */
export interface ClosableCatalogs extends OpenCatalogs {
  close(): Promise<void>;
}

/** The sources of catalogs. */
export interface CatalogTools {
  /** Undefined if the choice lists catalogs, so that no cluster is used. */
  readonly client: Client | undefined;
  /** Undefined to cache no catalogs. */
  readonly cacheFolder: string | undefined;
  readonly signal: AbortSignal;
  /** Called with each step, such as `reading catalog main`. */
  readonly onStep: (step: string) => void;
}

/**
 * Opens the selected catalogs: those in the choice, or the served catalogs of the cluster. A catalog of the cluster that cannot be read is left out.
 * The client is only used to list the ClusterCatalogs. Their images come from the registry, with the registry credentials in the options or of the
 * user, and never from catalogd: the digest proves their content, so that the cache can be shared between clusters.
 * @throws Error if the cluster does not list its catalogs, no catalog can be read, or a given folder or image cannot be read
 */
export async function openCatalogs(choice: CatalogChoice & ReaderOptions, tools: CatalogTools): Promise<ClosableCatalogs> {
  const { client, signal } = tools;
  const registries = new Registries(choice, signal);
  const cache = new CatalogCache(tools.cacheFolder);
  const catalogs: OpenCatalog[] = [];
  const leftOut: LeftOutCatalog[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(catalogs.map(({ book }) => book.close()));
    await cache.close();
    await registries.close();
  };
  try {
    const all = client ? await (await import("./clusterCatalogs.ts")).listServedCatalogs(client, signal) : listNamedCatalogs(choice);
    for (const one of filterNamedCatalogs(all, choice)) {
      signal.throwIfAborted();
      try {
        const book = await openCatalog(one, { reader: () => registries.reader(), cache, onStep: tools.onStep });
        catalogs.push({ name: one.name, priority: one.priority, book });
      } catch (err) {
        signal.throwIfAborted();
        if (!client) throw wrapError(`read catalog ${goQuote(one.name)}: `, err);
        leftOut.push({ catalog: one.name, because: getErrorMessage(err) });
      }
    }
    if (catalogs.length === 0) throw new Error(formatNoCatalogs(leftOut, choice.catalog.length > 0));
    return { catalogs, leftOut, close };
  } catch (err) {
    await close();
    throw err;
  }
}

/** @param isNamed whether --catalog selects catalogs */
function formatNoCatalogs(leftOut: readonly LeftOutCatalog[], isNamed: boolean): string {
  if (leftOut.length === 0)
    return "the cluster has no ClusterCatalog; add one with olmv1 catalog add NAME IMAGE, or use --catalog-dir or --catalog-image";
  const each = leftOut.map(({ catalog, because }) => `${goQuote(catalog)} (${because})`).join("; ");
  if (!isNamed) return `cannot read any of the cluster's catalogs: ${each}`;
  return `cannot read ${leftOut.length === 1 ? "catalog" : "catalogs"} ${each}. Select another catalog with --catalog`;
}

/** Reads images. Loads its modules only when the first image is read. */
class Registries {
  readonly #options: ReaderOptions;
  readonly #signal: AbortSignal;
  #reader: BundleReader | undefined;

  constructor(options: ReaderOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  async reader(): Promise<BundleReader> {
    const loaded = await import("./bundleReader.ts");
    this.#reader ??= new loaded.BundleReader(this.#options, this.#signal);
    return this.#reader;
  }

  async close(): Promise<void> {
    await this.#reader?.close();
  }
}

/**
 * Opens a catalog from the cache, or reads it into the cache. An image that the signature policy accepts only with signatures is not cached.
 * @throws Error with the reason why the catalog cannot be read
 */
export async function openCatalog(
  { name, path, image, unavailable }: NamedCatalog,
  tools: {
    readonly reader: () => Promise<Pick<BundleReader, "resolved" | "catalogFolder" | "catalogImage">>;
    readonly cache: CatalogCache;
    readonly onStep: CatalogTools["onStep"];
  },
): Promise<CachedCatalog> {
  const { cache, onStep } = tools;
  const layout = path === undefined ? undefined : await findLayoutPlace(path);
  if (path !== undefined && !layout) {
    if (!(await stat(path).catch(() => undefined))) throw new Error(`no such file or folder: ${goQuote(path)}`);
    return cache.obtain(getFilesKey(await digestFiles(path)), () => readCatalogMetas(path));
  }
  const ref = layout ?? image;
  if (ref === undefined) throw new Error(unavailable ?? "the catalog has no content");
  const reader = await tools.reader();
  const { canonical, digest, needsSignatures } = await reader.resolved(ref);
  const pull = async function* (): AsyncGenerator<Meta> {
    onStep(`pulling catalog ${name} from ${canonical}`);
    const folder = await (layout ? reader.catalogFolder(canonical) : reader.catalogImage(canonical));
    onStep(`reading catalog ${name}`);
    yield* readCatalogMetas(folder);
  };
  // The cache has no signatures, and a pull checks them.
  return needsSignatures ? cache.fresh(getImageKey(digest), pull) : cache.obtain(getImageKey(digest), pull);
}
