import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import type { Clock } from "../../async/clock.ts";
import { untilAborted } from "../../async/concurrency.ts";
import { messageOf } from "../../errors/errors.ts";
import type { BundleIndex } from "../../resolve/dependencies/bundleIndex.ts";
import { servedFrom } from "./catalogPackages.ts";

/** The index of a catalog, and the entity tags of the responses it was read from. */
export interface KnownBundleIndex {
  readonly index: BundleIndex;
  readonly tags: ReadonlyMap<string, string>;
}

/** Reads the index of one catalog, from the content that `ref` names by digest; returns the known one if that has not changed. */
export interface BundleIndexReader {
  bundleIndex(base: string, ref: string, signal: AbortSignal, known?: KnownBundleIndex): Promise<KnownBundleIndex>;
}

/** The index of one catalog. */
export interface CatalogBundleIndex {
  readonly name: string;
  readonly priority: number;
  /** Undefined where it cannot be asked. */
  readonly index: BundleIndex | undefined;
  /** Why that is so. */
  readonly unavailable?: string;
}

interface Kept {
  readonly ref: string;
  readonly read: Promise<KnownBundleIndex>;
  /** Takes back the end of its time. */
  cancel: () => void;
}

/** An index takes some megabytes and seconds to read; it is kept as long as resolutions come one after another. */
const IDLE_MS = 5 * 60_000;

/**
 * The indexes of the catalogs' bundles, for bundles that depend on others: read on demand, once per catalog digest for all extensions, and dropped
 * after some idle time.
 */
export class CatalogBundleIndexes {
  readonly #reader: BundleIndexReader;
  readonly #clock: Clock;
  readonly #stopped: AbortSignal;
  readonly #idleMs: number;
  readonly #kept = new Map<string, Kept>();

  /** @param stopped ends all readings. */
  constructor(reader: BundleIndexReader, clock: Clock, stopped: AbortSignal, idleMs = IDLE_MS) {
    this.#reader = reader;
    this.#clock = clock;
    this.#stopped = stopped;
    this.#idleMs = idleMs;
  }

  /**
   * One entry for each catalog, in the order given; one that cannot be asked says why in `unavailable`.
   * @throws the signal's reason when it aborts; a reading that others wait for too goes on.
   */
  async read(catalogs: readonly ClusterCatalog[], signal: AbortSignal): Promise<CatalogBundleIndex[]> {
    return Promise.all(catalogs.map((catalog) => this.#one(catalog, signal)));
  }

  /** Names of the catalogs that something is kept of. */
  get kept(): readonly string[] {
    return [...this.#kept.keys()];
  }

  /** Drops what is kept of a catalog that is gone. */
  forget(catalogName: string): void {
    this.#kept.get(catalogName)?.cancel();
    this.#kept.delete(catalogName);
  }

  async #one(catalog: ClusterCatalog, signal: AbortSignal): Promise<CatalogBundleIndex> {
    const { name } = catalog.metadata;
    const entry = { name, priority: catalog.spec.priority ?? 0 };
    if (catalog.spec.availabilityMode === "Unavailable")
      return { ...entry, index: undefined, unavailable: "spec.availabilityMode is Unavailable" };
    const state = servedFrom(catalog);
    if (typeof state === "string") return { ...entry, index: undefined, unavailable: state };
    try {
      return { ...entry, index: (await untilAborted(this.#read(name, state), signal)).index };
    } catch (err) {
      signal.throwIfAborted();
      return { ...entry, index: undefined, unavailable: messageOf(err) };
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
    const read = this.#after(before, base, ref);
    const kept = { ref, read, cancel: this.#clock.after(this.#idleMs, drop) };
    this.#kept.set(catalog, kept);
    read.catch(() => {
      if (this.#kept.get(catalog) === kept) drop();
    });
    return read;
  }

  async #after(before: Kept | undefined, base: string, ref: string): Promise<KnownBundleIndex> {
    const known = await before?.read.catch(() => undefined);
    return this.#reader.bundleIndex(base, ref, this.#stopped, known);
  }
}
