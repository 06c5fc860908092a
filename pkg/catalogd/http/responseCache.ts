import { LRUCache } from "lru-cache";

/** Limits of the cache in bytes. */
export interface CacheLimits {
  total: number;
  entry: number;
}

const MIB = 1024 * 1024;
/** Memory of an entry in addition to the bytes of its response, measured with heap snapshots: most responses are smaller. */
const ENTRY_BYTES = 512;
/** How long to keep a response after its last use. Responses of replaced catalogs are not requested again. */
const KEEP_MS = 600_000;
/** Maximum number of expensive responses to compute concurrently. */
const MAX_COSTLY = 2;
/** Default limits for the memory of all responses, and for the bytes of one response. */
export const CACHE_LIMITS: CacheLimits = { total: 32 * MIB, entry: 4 * MIB };

/**
 * Caches the bytes of recent responses by a key that changes with the bytes. Evicts the least
 * recently used responses, and each response that was not requested for ten minutes.
 */
export class ResponseCache {
  readonly #limits: CacheLimits;
  readonly #entries: LRUCache<string, Uint8Array>;
  readonly #pending = new Map<string, Promise<Uint8Array>>();
  #costly = 0;

  /** @param now clock in milliseconds */
  constructor(limits: CacheLimits = CACHE_LIMITS, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#entries = new LRUCache({
      maxSize: limits.total,
      maxEntrySize: limits.entry + ENTRY_BYTES,
      sizeCalculation: ({ byteLength }) => byteLength + ENTRY_BYTES,
      ttl: KEEP_MS,
      ttlAutopurge: true,
      updateAgeOnGet: true,
      perf: { now },
    });
  }

  /** Number of cached responses. */
  get size(): number {
    return this.#entries.size;
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
