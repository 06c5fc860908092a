import { stat } from "node:fs/promises";
import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import { type Clock, systemClock } from "../async/clock.ts";
import { rejectOnAbort } from "../async/concurrency.ts";
import { type CachedCatalog, CatalogCache } from "../catalogcache/catalogCache.ts";
import { getErrorMessage } from "../errors/errors.ts";
import { selectPackage } from "../fbc/content.ts";
import type { PackageContent } from "../fbc/types.ts";
import { BundleReader, type ReaderOptions } from "./bundleReader.ts";
import { filterNamedCatalogs } from "./catalogNames.ts";
import { type CatalogContentReader, toNamedCatalogs } from "./clusterCatalogs.ts";
import { type LeftOutCatalog, type OpenCatalog, type OpenCatalogs, openCatalog } from "./openCatalogs.ts";

/** Maximum memory of catalogs that no task uses, in bytes. Other unused catalogs are read again from the cache folder. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Time after which a catalog that could not be read is tried again. */
const RETRY_MS = 30_000;

/** Reads images; closed after each catalog. */
type ImageReader = Pick<BundleReader, "resolved" | "catalogFolder" | "close">;

/** How a server keeps catalogs. */
export interface KeptCatalogsOptions extends ReaderOptions {
  /** Undefined to keep the files in a temporary folder while a catalog is open. */
  readonly cacheFolder: string | undefined;
  readonly maxBytes?: number;
  readonly clock?: Clock;
  /** Replaces the access to registries. */
  readonly createReader?: (signal: AbortSignal) => ImageReader;
}

/** A catalog that is open, or is being opened. */
interface KeptCatalog {
  readonly ref: string;
  readonly cache: CatalogCache;
  readonly opening: Promise<CachedCatalog>;
  /** Undefined while it is being opened, and if it cannot be read. */
  book?: CachedCatalog;
  /** When it is tried again, if it cannot be read. */
  retryAt?: number;
  /** The number of tasks that use it. */
  users: number;
}

/**
 * Keeps the catalogs of a cluster open between the requests of a server. Reads each catalog once per digest, as soon as a task needs it, and closes
 * it when a ClusterCatalog has another digest. Like the commands of the command line, pulls catalog images from their registry with the registry
 * credentials of the process. It needs no access to catalogd, and works with every implementation of it. The ClusterCatalogs that a task passes
 * decide what it sees, so read them with the permissions of the user.
 */
export class KeptCatalogs {
  readonly #options: KeptCatalogsOptions;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  /** By image reference, least recently used first. */
  readonly #kept = new Map<string, KeptCatalog>();
  /** The images of the last listed ClusterCatalogs. */
  #current: ReadonlySet<string> | undefined;

  constructor(options: KeptCatalogsOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Runs a task. The catalogs that it uses stay open until it ends. */
  async use<T>(signal: AbortSignal, task: (lease: CatalogLease) => Promise<T>): Promise<T> {
    const all = new Set<KeptCatalog>();
    const used = new Map<string, KeptCatalog>();
    const take = (ref: string): KeptCatalog => {
      const known = used.get(ref);
      if (known) return known;
      const kept = this.#take(ref);
      used.set(ref, kept);
      all.add(kept);
      return kept;
    };
    const forget = (ref: string): void => {
      const kept = used.get(ref);
      used.delete(ref);
      if (this.#kept.get(ref) === kept) this.#kept.delete(ref);
    };
    const book = (ref: string): Promise<CachedCatalog> => rejectOnAbort(take(ref).opening, signal);
    const note = (refs: readonly string[]): void => void (this.#current = new Set(refs));
    try {
      return await task(new CatalogLease({ book, forget, note, signal }));
    } finally {
      for (const kept of all) kept.users--;
      for (const kept of all) if (kept.users === 0 && this.#kept.get(kept.ref) !== kept) await this.#drop(kept);
      await this.#trim();
    }
  }

  /** Closes all catalogs. Call it after all tasks have ended. */
  async close(): Promise<void> {
    this.#stop.abort();
    for (const kept of this.#kept.values()) await this.#drop(kept);
  }

  #take(ref: string): KeptCatalog {
    const known = this.#kept.get(ref);
    const isUsable = known && (known.retryAt === undefined || known.users > 0 || this.#clock.now() < known.retryAt);
    const kept = isUsable ? known : this.#open(ref);
    kept.users++;
    this.#kept.delete(ref);
    this.#kept.set(ref, kept);
    return kept;
  }

  #open(ref: string): KeptCatalog {
    const { cacheFolder, signaturePolicy } = this.#options;
    // A signature policy must verify images, so cached catalogs are not used. Each catalog has a cache, which removes its temporary files.
    const cache = new CatalogCache(signaturePolicy === undefined ? cacheFolder : undefined);
    const opening = this.#read(ref, cache);
    const kept: KeptCatalog = { ref, cache, opening, users: 0 };
    opening.then(
      (book) => void (kept.book = book),
      () => void (kept.retryAt = this.#clock.now() + RETRY_MS),
    );
    return kept;
  }

  async #read(ref: string, cache: CatalogCache): Promise<CachedCatalog> {
    const { signal } = this.#stop;
    const reader = this.#options.createReader?.(signal) ?? new BundleReader(this.#options, signal);
    try {
      const tools = { reader: () => Promise.resolve(reader), cache, onStep: () => undefined };
      return await openCatalog({ name: ref, priority: 0, image: ref }, tools);
    } catch (err) {
      await cache.close();
      throw err;
    } finally {
      await reader.close();
    }
  }

  /** Closes unused catalogs that are not current, and the least recently used ones above the limit. */
  async #trim(): Promise<void> {
    let bytes = 0;
    for (const kept of [...this.#kept.values()].reverse()) {
      bytes += kept.book?.memoryBytes ?? 0;
      const isOpening = kept.book === undefined && kept.retryAt === undefined;
      if (kept.users > 0 || isOpening) continue;
      const isOld = this.#current !== undefined && !this.#current.has(kept.ref);
      if (isOld || bytes > (this.#options.maxBytes ?? MAX_BYTES)) {
        bytes -= kept.book?.memoryBytes ?? 0;
        await this.#drop(kept);
      }
    }
  }

  async #drop(kept: KeptCatalog): Promise<void> {
    if (this.#kept.get(kept.ref) === kept) this.#kept.delete(kept.ref);
    const book = await kept.opening.catch(() => undefined);
    await book?.close();
    await kept.cache.close();
  }
}

/** What a lease needs of the kept catalogs. */
interface LeaseSources {
  readonly book: (ref: string) => Promise<CachedCatalog>;
  /** Opens the catalog again when the task uses it again. */
  readonly forget: (ref: string) => void;
  readonly note: (refs: readonly string[]) => void;
  readonly signal: AbortSignal;
}

/** The catalogs that one task uses. Reads packages for plans and resolutions without reading whole catalogs. */
export class CatalogLease implements CatalogContentReader {
  readonly #sources: LeaseSources;

  constructor(sources: LeaseSources) {
    this.#sources = sources;
  }

  /** Opens the catalogs, by descending priority, then by name. `leftOut` lists those that cannot be read. @throws the reason of the task's signal */
  async open(catalogs: readonly ClusterCatalog[]): Promise<OpenCatalogs> {
    const { note, book, signal } = this.#sources;
    const named = filterNamedCatalogs(toNamedCatalogs(catalogs), { catalog: [] });
    note(named.flatMap(({ image }) => image ?? []));
    const open: OpenCatalog[] = [];
    const leftOut: LeftOutCatalog[] = [];
    for (const { name, priority, image, unavailable = "the catalog has no content" } of named) {
      try {
        if (image === undefined) leftOut.push({ catalog: name, because: unavailable });
        else open.push({ name, priority, book: await book(image) });
      } catch (err) {
        signal.throwIfAborted();
        leftOut.push({ catalog: name, because: getErrorMessage(err) });
      }
    }
    return { catalogs: open, leftOut };
  }

  /** Returns a file with all objects of the catalog. @throws Error if the catalog cannot be read */
  async catalogFolder(ref: string): Promise<string> {
    const { book, forget } = this.#sources;
    const { file } = await book(ref);
    if (await stat(file).catch(() => undefined)) return file;
    forget(ref); // another process has removed it from the cache folder
    return (await book(ref)).file;
  }

  /** Returns a package of the catalog. @throws Error if the catalog cannot be read, or the package is invalid */
  async packageContent(ref: string, packageName: string): Promise<PackageContent> {
    return selectPackage(await (await this.#sources.book(ref)).metasOf(packageName), packageName);
  }
}
