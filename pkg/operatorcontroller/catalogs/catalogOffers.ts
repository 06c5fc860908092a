import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import type { Clock } from "../../async/clock.ts";
import { untilAborted } from "../../async/concurrency.ts";
import { messageOf } from "../../errors/errors.ts";
import type { OfferIndex } from "../../resolve/dependencies/offerIndex.ts";
import { servedFrom } from "./catalogContents.ts";

/** What was read of a catalog, and the entity tags of the answers it was read from. */
export interface KnownOffers {
  readonly index: OfferIndex;
  readonly tags: ReadonlyMap<string, string>;
}

/** Reads what one catalog offers, from the content that `ref` names by digest; gives what is known again where that has not changed. */
export interface OffersReader {
  offers(base: string, ref: string, signal: AbortSignal, known?: KnownOffers): Promise<KnownOffers>;
}

/** One catalog with what it offers to those who depend on something. */
export interface CatalogOffer {
  readonly name: string;
  readonly priority: number;
  /** Undefined where it cannot be asked. */
  readonly index: OfferIndex | undefined;
  /** Why that is so. */
  readonly unavailable?: string;
}

interface Kept {
  readonly ref: string;
  readonly read: Promise<KnownOffers>;
  /** Takes back the end of its time. */
  cancel: () => void;
}

/** An index takes some megabytes and seconds to read; it is kept as long as resolutions come one after another. */
const IDLE_MS = 5 * 60_000;

/**
 * What catalogs offer to those who depend on something, read when it is asked for, once per catalog digest for all extensions, and dropped when
 * nobody asked for a while.
 */
export class CatalogOffers {
  readonly #reader: OffersReader;
  readonly #clock: Clock;
  readonly #stopped: AbortSignal;
  readonly #idleMs: number;
  readonly #kept = new Map<string, Kept>();

  /** @param stopped ends all readings. */
  constructor(reader: OffersReader, clock: Clock, stopped: AbortSignal, idleMs = IDLE_MS) {
    this.#reader = reader;
    this.#clock = clock;
    this.#stopped = stopped;
    this.#idleMs = idleMs;
  }

  /**
   * One entry for each catalog, in the order given; one that cannot be asked says why in `unavailable`.
   * @throws the signal's reason when it aborts; a reading that others wait for too goes on.
   */
  async of(catalogs: readonly ClusterCatalog[], signal: AbortSignal): Promise<CatalogOffer[]> {
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

  async #one(catalog: ClusterCatalog, signal: AbortSignal): Promise<CatalogOffer> {
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

  #read(catalog: string, { base, ref }: { base: string; ref: string }): Promise<KnownOffers> {
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

  async #after(before: Kept | undefined, base: string, ref: string): Promise<KnownOffers> {
    const known = await before?.read.catch(() => undefined);
    return this.#reader.offers(base, ref, this.#stopped, known);
  }
}
