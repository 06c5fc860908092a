import { LRUCache } from "lru-cache";
/** What is kept: answers that are not large, up to a total. Bytes. */
export interface CacheLimits {
  total: number;
  entry: number;
}

const MIB = 1024 * 1024;
/** Answers that may be made at the same time of those that cost much to make. */
const MAX_COSTLY = 2;
/** How many bytes are kept of all answers, and of one at the most. */
export const CACHE_LIMITS: CacheLimits = { total: 32 * MIB, entry: 4 * MIB };

/** The bytes of recent answers by a key that changes with them; the ones unused for longest make room. */
export class ResponseCache {
  readonly #limits: CacheLimits;
  readonly #entries: LRUCache<string, Uint8Array>;
  readonly #pending = new Map<string, Promise<Uint8Array>>();
  #costly = 0;

  constructor(limits: CacheLimits = CACHE_LIMITS) {
    this.#limits = limits;
    // Sizes are positive.
    const sizeCalculation = ({ byteLength }: Uint8Array): number => Math.max(byteLength, 1);
    this.#entries = new LRUCache({ maxSize: limits.total, maxEntrySize: limits.entry, sizeCalculation });
  }

  /** Whether an answer of that size is worth keeping. */
  fits(bytes: number): boolean {
    return bytes <= this.#limits.entry;
  }

  /** The bytes for `key`; made once, however many ask at the same time. */
  async get(key: string, make: () => Promise<Uint8Array>): Promise<Uint8Array> {
    const known = this.#entries.get(key);
    if (known) return known;
    const pending = this.#pending.get(key);
    if (pending) return pending;
    const making = make().finally(() => this.#pending.delete(key));
    this.#pending.set(key, making);
    const bytes = await making;
    this.#entries.set(key, bytes);
    return bytes;
  }

  /** The same for bytes that cost much to make: undefined when others are being made. */
  async getUnlessBusy(key: string, make: () => Promise<Uint8Array>): Promise<Uint8Array | undefined> {
    if (this.#entries.has(key) || this.#pending.has(key)) return this.get(key, make);
    if (this.#costly >= MAX_COSTLY) return undefined;
    this.#costly++;
    return this.get(key, make).finally(() => this.#costly--);
  }
}
