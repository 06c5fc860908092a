import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import type { Clock } from "../../async/clock.ts";
import { rejectOnAbort } from "../../async/concurrency.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import type { BundleIndex } from "../../resolve/dependencies/bundleIndex.ts";
import { getServedContent } from "./catalogPackages.ts";

/** The bundle index of a catalog, and the entity tags of the responses that contained it. */
export interface KnownBundleIndex {
  readonly index: BundleIndex;
  readonly tags: ReadonlyMap<string, string>;
}

/** Reads the bundle index of one catalog from the content with the digest in `ref`. Returns the known index if the content has not changed. */
export interface BundleIndexReader {
  bundleIndex(base: string, ref: string, signal: AbortSignal, known?: KnownBundleIndex): Promise<KnownBundleIndex>;
}

/** The bundle index of one catalog. */
export interface CatalogBundleIndex {
  readonly name: string;
  readonly priority: number;
  /** Undefined if the catalog is unavailable. */
  readonly index: BundleIndex | undefined;
  /** The reason, if the catalog is unavailable. */
  readonly unavailable?: string;
}

interface KeptIndex {
  readonly ref: string;
  readonly read: Promise<KnownBundleIndex>;
  /** Cancels the timer that drops the index. */
  cancel: () => void;
}

/** Time in milliseconds after which an unused index is dropped. An index has several megabytes and takes seconds to read. */
const IDLE_MS = 5 * 60_000;

/**
 * Caches the bundle indexes of catalogs, to resolve dependencies. Reads an index on demand, once per catalog digest for all extensions, and drops it
 * when it is unused.
 */
export class CatalogBundleIndexes {
  readonly #reader: BundleIndexReader;
  readonly #clock: Clock;
  readonly #stopped: AbortSignal;
  readonly #idleMs: number;
  readonly #kept = new Map<string, KeptIndex>();

  /** @param stopped signal that aborts all reads. */
  constructor(reader: BundleIndexReader, clock: Clock, stopped: AbortSignal, idleMs = IDLE_MS) {
    this.#reader = reader;
    this.#clock = clock;
    this.#stopped = stopped;
    this.#idleMs = idleMs;
  }

  /**
   * Returns one entry for each catalog, in the order given; `unavailable` has the reason if a catalog cannot be read.
   * @throws the signal's reason when it aborts; a shared read continues for its other callers.
   */
  async read(catalogs: readonly ClusterCatalog[], signal: AbortSignal): Promise<CatalogBundleIndex[]> {
    return Promise.all(catalogs.map((catalog) => this.#readOne(catalog, signal)));
  }

  /** Names of the catalogs with a cached index. */
  get kept(): readonly string[] {
    return [...this.#kept.keys()];
  }

  /** Drops the index of a deleted catalog. */
  forget(catalogName: string): void {
    this.#kept.get(catalogName)?.cancel();
    this.#kept.delete(catalogName);
  }

  async #readOne(catalog: ClusterCatalog, signal: AbortSignal): Promise<CatalogBundleIndex> {
    const { name } = catalog.metadata;
    const entry = { name, priority: catalog.spec.priority ?? 0 };
    if (catalog.spec.availabilityMode === "Unavailable")
      return { ...entry, index: undefined, unavailable: "spec.availabilityMode is Unavailable" };
    const state = getServedContent(catalog);
    if (typeof state === "string") return { ...entry, index: undefined, unavailable: state };
    try {
      return { ...entry, index: (await rejectOnAbort(this.#read(name, state), signal)).index };
    } catch (err) {
      signal.throwIfAborted();
      return { ...entry, index: undefined, unavailable: getErrorMessage(err) };
    }
  }

  #read(catalog: string, { base, ref }: { base: string; ref: string }): Promise<KnownBundleIndex> {
    const before = this.#kept.get(catalog);
    const drop = (): void => this.forget(catalog);
    before?.cancel();
    if (before?.ref === ref) {
      before.cancel = this.#clock.after(this.#idleMs, drop);
      return before.read;
    }
    const read = this.#readAfter(before, base, ref);
    const kept = { ref, read, cancel: this.#clock.after(this.#idleMs, drop) };
    this.#kept.set(catalog, kept);
    read.catch(() => {
      if (this.#kept.get(catalog) === kept) drop();
    });
    return read;
  }

  async #readAfter(before: KeptIndex | undefined, base: string, ref: string): Promise<KnownBundleIndex> {
    const known = await before?.read.catch(() => undefined);
    return this.#reader.bundleIndex(base, ref, this.#stopped, known);
  }
}
