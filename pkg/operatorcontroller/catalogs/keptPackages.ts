import type { PackageContent } from "../../fbc/types.ts";

/** One reading of a package. */
export interface KeptPackage {
  /** The content that it was read from, by digest. */
  readonly ref: string;
  readonly content: Promise<PackageContent | undefined>;
  /** Entity tags of the answers that it was read from, by their path. */
  readonly tags: Map<string, string>;
}

/** A reading, what it takes, and the reading before it, which comes back where this one fails. */
interface Entry extends KeptPackage {
  bytes: number;
  before?: KeptPackage | undefined;
}

/**
 * What is kept in all, in bytes as JSON; it takes about three times as much of memory. A package takes some tens of kilobytes, the largest
 * real ones some hundred, and next to nothing where a catalog does not hold it, as most do not.
 */
const MAX_BYTES = 24 * 1024 * 1024;
/** What an entry takes beside its content. */
const ENTRY_BYTES = 1_024;

/** Readings of packages by catalog and package, the least recently used dropped beyond a bound in bytes; in place of one that fails, the one before stays. */
export class KeptPackages {
  readonly #maxBytes: number;
  /** In the order of their last use. */
  readonly #kept = new Map<string, Entry>();
  #bytes = 0;

  constructor(maxBytes: number = MAX_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** What all of it takes, as it counts. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The reading of a package, without using it. */
  peek(catalog: string, packageName: string): KeptPackage | undefined {
    return this.#kept.get(keyOf(catalog, packageName));
  }

  /** The reading of a package, which counts as used now. */
  use(catalog: string, packageName: string): KeptPackage | undefined {
    const key = keyOf(catalog, packageName);
    const kept = this.#kept.get(key);
    if (!kept) return undefined;
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    return kept;
  }

  /** Keeps a reading in place of the one before; one that is under way counts as small until it has ended. */
  keep(catalog: string, packageName: string, reading: KeptPackage): void {
    const key = keyOf(catalog, packageName);
    const known = this.#kept.get(key);
    const before = known && (known.before ?? { ref: known.ref, content: known.content, tags: known.tags });
    this.#drop(key);
    this.#set(key, { ...reading, bytes: ENTRY_BYTES, before });
    this.#trim(key);
  }

  /** Drops what is kept of a catalog. */
  forget(catalog: string): void {
    for (const key of this.#kept.keys()) if (key.startsWith(keyOf(catalog, ""))) this.#drop(key);
  }

  #set(key: string, kept: Entry): void {
    this.#kept.set(key, kept);
    this.#bytes += kept.bytes;
    void this.#weigh(key, kept);
  }

  async #weigh(key: string, kept: Entry): Promise<void> {
    try {
      const content = await kept.content;
      if (this.#kept.get(key) !== kept) return;
      const bytes = content === undefined ? 0 : JSON.stringify(content).length;
      kept.before = undefined;
      kept.bytes += bytes;
      this.#bytes += bytes;
      this.#trim(key);
    } catch {
      if (this.#kept.get(key) !== kept) return;
      this.#drop(key);
      if (kept.before) this.#set(key, { ...kept.before, bytes: ENTRY_BYTES });
    }
  }

  /** What does not fit beside nothing else is dropped at last itself. */
  #trim(newest: string): void {
    for (const key of this.#kept.keys()) {
      if (this.#bytes <= this.#maxBytes) return;
      if (key !== newest) this.#drop(key);
    }
    if (this.#bytes > this.#maxBytes) this.#drop(newest);
  }

  #drop(key: string): void {
    this.#bytes -= this.#kept.get(key)?.bytes ?? 0;
    this.#kept.delete(key);
  }
}

/** Names of catalogs hold no slash. */
function keyOf(catalog: string, packageName: string): string {
  return `${catalog}/${packageName}`;
}
