import type { PackageContent } from "../../fbc/types.ts";

/** One reading of a package. */
export interface KeptPackage {
  /** The content that it was read from, by digest. */
  readonly ref: string;
  readonly content: Promise<PackageContent | undefined>;
  /** Entity tags of the answers that it was read from, by their path. */
  readonly tags: Map<string, string>;
}

/**
 * What is kept in all, in bytes as JSON; it takes about three times as much of memory. A package takes some tens of kilobytes, the largest
 * real ones some hundred, and next to nothing where a catalog does not hold it, as most do not.
 */
const MAX_BYTES = 24 * 1024 * 1024;
/** What an entry takes beside its content. */
const ENTRY_BYTES = 1_024;

/** Readings of packages by catalog and package, the least recently used dropped beyond a bound in bytes; one that failed is not kept. */
export class KeptPackages {
  readonly #maxBytes: number;
  /** In the order of their last use. */
  readonly #kept = new Map<string, KeptPackage & { bytes: number }>();
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
    this.#drop(key);
    const kept = { ...reading, bytes: ENTRY_BYTES };
    this.#kept.set(key, kept);
    this.#bytes += kept.bytes;
    void this.#weigh(key, kept);
    this.#trim(key);
  }

  /** Drops what is kept of a catalog. */
  forget(catalog: string): void {
    for (const key of this.#kept.keys()) if (key.startsWith(keyOf(catalog, ""))) this.#drop(key);
  }

  async #weigh(key: string, kept: KeptPackage & { bytes: number }): Promise<void> {
    try {
      const content = await kept.content;
      if (this.#kept.get(key) !== kept) return;
      const bytes = content === undefined ? 0 : JSON.stringify(content).length;
      kept.bytes += bytes;
      this.#bytes += bytes;
      this.#trim(key);
    } catch {
      if (this.#kept.get(key) === kept) this.#drop(key);
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
