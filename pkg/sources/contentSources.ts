import { type CachedCatalog, CatalogCache } from "../catalogcache/catalogCache.ts";
import { getErrorMessage } from "../errors/errors.ts";
import { CatalogUnreachable } from "../operatorcontroller/catalogs/catalogClient.ts";
import { BundleReader, type ReaderOptions } from "./bundleReader.ts";
import { openCatalog } from "./openCatalogs.ts";
import type { ServedCatalogs } from "./servedCatalogs.ts";

/** Reads images; closed after each catalog. */
type ImageReader = Pick<BundleReader, "resolved" | "catalogFolder" | "catalogImage" | "close">;

/** From where catalogs are read, and where their content is cached. */
export interface ContentSourcesOptions extends ReaderOptions {
  /** Reads from catalogd; absent to read only images. */
  readonly served?: ServedCatalogs | undefined;
  /** Undefined to keep the files in a temporary folder while a catalog is open. */
  readonly cacheFolder: string | undefined;
  /** Replaces the access to registries. */
  readonly createReader?: (signal: AbortSignal) => ImageReader;
}

/** The content of a catalog: at catalogd, in an image, or both. */
export interface CatalogPlace {
  /** Image reference with digest. */
  readonly ref: string;
  /** URL at which catalogd serves it; undefined to read the image. */
  readonly base: string | undefined;
  /** Whether catalogd serves other content by now, so that only the cache and the image still have this one. */
  readonly isReplaced?: boolean;
}

/** From where the content of a catalog was read. */
export type CatalogOrigin =
  | { readonly from: "catalogd" }
  /** `because`: why it could not be read from catalogd; absent if catalogd was not asked. */
  | { readonly from: "registry"; readonly because?: string };

/** The content of a catalog, until it is closed. */
export interface OpenContent {
  readonly book: CachedCatalog;
  readonly origin: CatalogOrigin;
  close(): Promise<void>;
}

/** Returns the same text for the same content from the same place. */
export function getPlaceKey({ ref, base = "" }: CatalogPlace): string {
  return `${base} ${ref}`;
}

/**
 * Reads the content of a catalog: from catalogd, or from the image if catalogd does not respond with the content.
 * @throws Error with both reasons if neither works. Content of catalogd that is invalid, or of another edition, is an error, too: the image must not
 * hide what catalogd serves.
 */
export async function readContent(place: CatalogPlace, options: ContentSourcesOptions, signal: AbortSignal): Promise<OpenContent> {
  const cache = new CatalogCache(options.cacheFolder);
  try {
    const { book, origin } = await new ContentReader(options, { cache, signal }).read(place);
    const close = async (): Promise<void> => {
      await book.close();
      await cache.close();
    };
    return { book, origin, close };
  } catch (err) {
    await cache.close();
    throw err;
  }
}

interface ReadTools {
  readonly cache: CatalogCache;
  readonly signal: AbortSignal;
}

class ContentReader {
  readonly #options: ContentSourcesOptions;
  readonly #tools: ReadTools;

  constructor(options: ContentSourcesOptions, tools: ReadTools) {
    this.#options = options;
    this.#tools = tools;
  }

  async read(place: CatalogPlace): Promise<Omit<OpenContent, "close">> {
    const found = await this.#readServed(place);
    if (found === undefined) return { book: await this.#readImage(place.ref), origin: { from: "registry" } };
    if (!(found instanceof CatalogUnreachable)) return { book: found, origin: { from: "catalogd" } };
    const because = found.message;
    try {
      return { book: await this.#readImage(place.ref), origin: { from: "registry", because } };
    } catch (err) {
      throw new Error(`cannot read it from catalogd: ${because}; cannot read its image: ${getErrorMessage(err)}`, { cause: err });
    }
  }

  /** Returns the content from the cache or from catalogd, or why catalogd does not have it; undefined to read only the image. */
  async #readServed({ ref, base, isReplaced = false }: CatalogPlace): Promise<CachedCatalog | CatalogUnreachable | undefined> {
    const { served } = this.#options;
    if (!served || base === undefined) return undefined;
    const { cache, signal } = this.#tools;
    const key = served.getKey({ base, ref });
    try {
      if (isReplaced) return (await cache.kept(key)) ?? new CatalogUnreachable("it serves other content by now");
      return await cache.obtain(key, () => served.read({ base, ref }, signal));
    } catch (err) {
      if (err instanceof CatalogUnreachable) return err;
      throw err;
    }
  }

  async #readImage(ref: string): Promise<CachedCatalog> {
    const { cache, signal } = this.#tools;
    const reader = this.#options.createReader?.(signal) ?? new BundleReader(this.#options, signal);
    try {
      const tools = { reader: () => Promise.resolve(reader), cache, onStep: () => undefined };
      return await openCatalog({ name: ref, priority: 0, image: ref }, tools);
    } finally {
      await reader.close();
    }
  }
}
