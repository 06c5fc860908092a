import { LRUCache } from "lru-cache";
/** Limits of the cache in bytes. */
export interface CacheLimits {
  total: number;
  entry: number;
}

const MIB = 1024 * 1024;
/** Maximum number of expensive responses to compute concurrently. */
const MAX_COSTLY = 2;
/** Default limits for the bytes of all responses and of one response. */
export const CACHE_LIMITS: CacheLimits = { total: 32 * MIB, entry: 4 * MIB };

/**
 * Caches the bytes of recent responses by a key that changes with the bytes. Evicts the least
 * recently used responses.
 */
export class ResponseCache {
  readonly #limits: CacheLimits;
  readonly #entries: LRUCache<string, Uint8Array>;
  readonly #pending = new Map<string, Promise<Uint8Array>>();
  #costly = 0;

  constructor(limits: CacheLimits = CACHE_LIMITS) {
    this.#limits = limits;
    // LRUCache rejects a size of 0.
    const sizeCalculation = ({ byteLength }: Uint8Array): number => Math.max(byteLength, 1);
    this.#entries = new LRUCache({ maxSize: limits.total, maxEntrySize: limits.entry, sizeCalculation });
  }

  /** Returns whether a response of that size can be cached. */
  fits(bytes: number): boolean {
    return bytes <= this.#limits.entry;
  }

  /** Returns the bytes for `key`. Computes them only once for simultaneous requests. */
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

  /** Like `get`, for expensive responses. Returns undefined while too many other responses are being computed. */
  async getUnlessBusy(key: string, make: () => Promise<Uint8Array>): Promise<Uint8Array | undefined> {
    if (this.#entries.has(key) || this.#pending.has(key)) return this.get(key, make);
    if (this.#costly >= MAX_COSTLY) return undefined;
    this.#costly++;
    return this.get(key, make).finally(() => this.#costly--);
  }
}
