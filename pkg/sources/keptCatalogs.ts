import { stat } from "node:fs/promises";
import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import { type Clock, systemClock } from "../async/clock.ts";
import { rejectOnAbort } from "../async/concurrency.ts";
import type { CachedCatalog } from "../catalogcache/catalogCache.ts";
import { getErrorMessage } from "../errors/errors.ts";
import { selectPackage } from "../fbc/content.ts";
import type { PackageContent } from "../fbc/types.ts";
import { filterNamedCatalogs } from "./catalogNames.ts";
import { type CatalogContentReader, toNamedCatalogs } from "./clusterCatalogs.ts";
import {
  type CatalogOrigin,
  type CatalogPlace,
  type ContentSourcesOptions,
  getPlaceKey,
  type OpenContent,
  readContent,
} from "./contentSources.ts";
import type { LeftOutCatalog, OpenCatalog, OpenCatalogs } from "./openCatalogs.ts";
import type { ServedPlace } from "./servedCatalogs.ts";

/** Maximum memory of catalogs that no task uses, in bytes. Other unused catalogs are read again from the cache folder. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Time after which a catalog that could not be read is tried again. */
const RETRY_MS = 30_000;

/** How a server keeps catalogs. */
export interface KeptCatalogsOptions extends ContentSourcesOptions {
  readonly maxBytes?: number;
  readonly clock?: Clock;
}

/** A catalog that is open, or is being opened. */
interface KeptCatalog {
  readonly key: string;
  readonly opening: Promise<OpenContent>;
  /** Undefined while it is being opened, and if it cannot be read. */
  book?: CachedCatalog;
  /** When it is tried again, if it cannot be read. */
  retryAt?: number;
  /** The number of tasks that use it. */
  users: number;
}

/**
 * Keeps the catalogs of a cluster open between the requests of a server. Reads each catalog once per digest, as soon as a task needs it, and closes
 * it when a ClusterCatalog has another digest. Reads what catalogd serves, as operator-controller does. If catalogd does not respond with the
 * content, pulls the image from its registry with the registry credentials of the process, like the commands of the command line. Works with every
 * implementation of catalogd. The ClusterCatalogs that a task passes decide what it sees, so read them with the permissions of the user.
 */
export class KeptCatalogs {
  readonly #options: KeptCatalogsOptions;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  /** By place, least recently used first. */
  readonly #kept = new Map<string, KeptCatalog>();
  /** The places of the last listed ClusterCatalogs. */
  #current: ReadonlySet<string> | undefined;

  constructor(options: KeptCatalogsOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Runs a task. The catalogs that it uses stay open until it ends. */
  async use<T>(signal: AbortSignal, task: (lease: CatalogLease) => Promise<T>): Promise<T> {
    const all = new Set<KeptCatalog>();
    const used = new Map<string, KeptCatalog>();
    const take = (place: CatalogPlace): KeptCatalog => {
      const key = getPlaceKey(place);
      const known = used.get(key);
      if (known) return known;
      const kept = this.#take(key, place);
      used.set(key, kept);
      all.add(kept);
      return kept;
    };
    const forget = (place: CatalogPlace): void => {
      const key = getPlaceKey(place);
      const kept = used.get(key);
      used.delete(key);
      if (this.#kept.get(key) === kept) this.#kept.delete(key);
    };
    const content = (place: CatalogPlace): Promise<OpenContent> => rejectOnAbort(take(place).opening, signal);
    const note = (places: readonly CatalogPlace[]): void => void (this.#current = new Set(places.map(getPlaceKey)));
    try {
      return await task(new CatalogLease({ content, forget, note, signal }));
    } finally {
      for (const kept of all) kept.users--;
      for (const kept of all) if (kept.users === 0 && this.#kept.get(kept.key) !== kept) await this.#drop(kept);
      await this.#trim();
    }
  }

  /** Closes all catalogs, and aborts reads in progress. Call it after all tasks have ended. */
  async close(): Promise<void> {
    this.#stop.abort();
    for (const kept of this.#kept.values()) await this.#drop(kept);
    await this.#options.served?.close();
  }

  #take(key: string, place: CatalogPlace): KeptCatalog {
    const known = this.#kept.get(key);
    const isUsable = known && (known.retryAt === undefined || known.users > 0 || this.#clock.now() < known.retryAt);
    const kept = isUsable ? known : this.#open(key, place);
    kept.users++;
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    return kept;
  }

  #open(key: string, place: CatalogPlace): KeptCatalog {
    const opening = readContent(place, this.#options, this.#stop.signal);
    const kept: KeptCatalog = { key, opening, users: 0 };
    opening.then(
      ({ book }) => void (kept.book = book),
      () => void (kept.retryAt = this.#clock.now() + RETRY_MS),
    );
    return kept;
  }

  /** Closes unused catalogs that are not current, and the least recently used ones above the limit. */
  async #trim(): Promise<void> {
    let bytes = 0;
    for (const kept of [...this.#kept.values()].reverse()) {
      bytes += kept.book?.memoryBytes ?? 0;
      const isOpening = kept.book === undefined && kept.retryAt === undefined;
      if (kept.users > 0 || isOpening) continue;
      const isOld = this.#current !== undefined && !this.#current.has(kept.key);
      if (isOld || bytes > (this.#options.maxBytes ?? MAX_BYTES)) {
        bytes -= kept.book?.memoryBytes ?? 0;
        await this.#drop(kept);
      }
    }
  }

  async #drop(kept: KeptCatalog): Promise<void> {
    if (this.#kept.get(kept.key) === kept) this.#kept.delete(kept.key);
    const open = await kept.opening.catch(() => undefined);
    await open?.close();
  }
}

/** What a lease needs of the kept catalogs. */
interface LeaseSources {
  readonly content: (place: CatalogPlace) => Promise<OpenContent>;
  /** Opens the catalog again when the task uses it again. */
  readonly forget: (place: CatalogPlace) => void;
  readonly note: (places: readonly CatalogPlace[]) => void;
  readonly signal: AbortSignal;
}

/**
 * The catalogs that one task uses. Reads packages for plans and resolutions without reading whole catalogs. `ref` is the image of a catalog, and
 * `base` the URL at which catalogd serves it, as in the status of a ClusterCatalog.
 */
export class CatalogLease implements CatalogContentReader {
  readonly #sources: LeaseSources;

  constructor(sources: LeaseSources) {
    this.#sources = sources;
  }

  /** Opens the catalogs, by descending priority, then by name. `leftOut` lists those that cannot be read. @throws the reason of the task's signal */
  async open(catalogs: readonly ClusterCatalog[]): Promise<OpenCatalogs> {
    const { note, content, signal } = this.#sources;
    const named = filterNamedCatalogs(toNamedCatalogs(catalogs), { catalog: [] });
    note(named.flatMap(({ image, base }) => (image === undefined ? [] : [{ ref: image, base }])));
    const open: OpenCatalog[] = [];
    const leftOut: LeftOutCatalog[] = [];
    for (const { name, priority, image, base, unavailable = "the catalog has no content" } of named) {
      try {
        if (image === undefined) leftOut.push({ catalog: name, because: unavailable });
        else open.push({ name, priority, book: (await content({ ref: image, base })).book });
      } catch (err) {
        signal.throwIfAborted();
        leftOut.push({ catalog: name, because: getErrorMessage(err) });
      }
    }
    return { catalogs: open, leftOut };
  }

  /** Returns from where the content of a catalog was read. Reads it if no task has read it yet. @throws Error if the catalog cannot be read */
  async origin({ ref, base }: ServedPlace): Promise<CatalogOrigin> {
    return (await this.#sources.content({ ref, base })).origin;
  }

  /** Returns a file with all objects of the catalog. @throws Error if the catalog cannot be read */
  catalogFolder(ref: string, base?: string): Promise<string> {
    return this.#file({ ref, base });
  }

  /**
   * Returns a file with all objects that a catalog had before catalogd served other content: from the cache, or from the image.
   * @throws Error if the catalog cannot be read
   */
  replacedFolder(ref: string, base: string | undefined): Promise<string> {
    return this.#file({ ref, base, isReplaced: true });
  }

  /** Returns a package of the catalog. @throws Error if the catalog cannot be read, or the package is invalid */
  async packageContent(ref: string, packageName: string, base?: string): Promise<PackageContent> {
    const { book } = await this.#sources.content({ ref, base });
    return selectPackage(await book.metasOf(packageName), packageName);
  }

  async #file(place: CatalogPlace): Promise<string> {
    const { content, forget } = this.#sources;
    const { file } = (await content(place)).book;
    if (await stat(file).catch(() => undefined)) return file;
    forget(place); // another process has removed it from the cache folder
    return (await content(place)).book.file;
  }
}
