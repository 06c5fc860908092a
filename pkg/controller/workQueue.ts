import { type Clock, systemClock } from "../async/clock.ts";
import type { QueueMetrics } from "../telemetry/metrics.ts";

/** Options of a work queue. */
export interface WorkQueueOptions {
  /** Delay of the first rate-limited add of a key; doubles with each one until `forget`. Default 5 ms. */
  baseDelayMs?: number;
  /** Maximum delay. Default 1,000 s. */
  maxDelayMs?: number;
  clock?: Clock;
  metrics?: QueueMetrics;
}

interface Delayed {
  at: number;
  cancel: () => void;
}

/**
 * A first-in, first-out queue of keys to work on. A key is in the queue at most once. A key that is being worked on
 * is not returned again: if it is added meanwhile, it is queued when `done` is called.
 * @see k8s.io/client-go v0.36.3 util/workqueue
 */
export class WorkQueue {
  readonly #baseDelayMs: number;
  readonly #maxDelayMs: number;
  readonly #clock: Clock;
  readonly #metrics: QueueMetrics | undefined;
  /** Ready keys in order, with the time at which they became ready. */
  readonly #ready = new Map<string, number>();
  readonly #working = new Map<string, { since: number; again: boolean }>();
  readonly #delayed = new Map<string, Delayed>();
  readonly #failures = new Map<string, number>();
  readonly #waiting: ((key: string | undefined) => void)[] = [];
  #stopped = false;

  constructor({ baseDelayMs = 5, maxDelayMs = 1_000_000, clock = systemClock, metrics }: WorkQueueOptions = {}) {
    this.#baseDelayMs = baseDelayMs;
    this.#maxDelayMs = maxDelayMs;
    this.#clock = clock;
    this.#metrics = metrics;
  }

  /** Number of ready keys, without delayed keys and keys that are being worked on. */
  get length(): number {
    return this.#ready.size;
  }

  /** Adds a key. Does nothing if it is ready, or after `shutDown`. */
  add(key: string): void {
    if (this.#stopped || this.#ready.has(key)) return;
    const working = this.#working.get(key);
    if (working?.again) return;
    this.#metrics?.added();
    if (working) working.again = true;
    else this.#push(key);
  }

  /** Adds a key after a delay. Of several delays for one key, the shortest applies. */
  addAfter(key: string, ms: number): void {
    if (this.#stopped) return;
    if (ms <= 0) return this.add(key);
    const at = this.#clock.now() + ms;
    const before = this.#delayed.get(key);
    if (before && before.at <= at) return undefined;
    before?.cancel();
    const cancel = this.#clock.after(ms, () => {
      this.#delayed.delete(key);
      this.add(key);
    });
    this.#delayed.set(key, { at, cancel });
    return undefined;
  }

  /**
   * Adds a key after its back-off, which is base · 2ⁿ for the n-th time since `forget`, up to the
   * maximum.
   * @param atLeastMs minimum delay, for example requested by a server.
   * @returns the delay in milliseconds.
   */
  addRateLimited(key: string, atLeastMs = 0): number {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    const delay = Math.max(Math.min(this.#baseDelayMs * 2 ** failures, this.#maxDelayMs), atLeastMs);
    this.#metrics?.retried();
    this.addAfter(key, delay);
    return delay;
  }

  /** Resets the back-off of a key. Does not change the queue. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** Returns the next key as soon as one is ready; undefined after `shutDown`. Call `done` for every key. */
  get(): Promise<string | undefined> {
    if (this.#stopped) return Promise.resolve(undefined);
    const taken = this.#take();
    if (taken !== undefined) return Promise.resolve(taken);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Ends the work on a key. Queues it again if it was added meanwhile. */
  done(key: string): void {
    const working = this.#working.get(key);
    if (!working) return;
    this.#working.delete(key);
    this.#metrics?.worked((this.#clock.now() - working.since) / 1000);
    if (working.again && !this.#stopped) this.#push(key);
  }

  /** Drops all queued keys, and lets every `get` return undefined. Does not affect keys being worked on. */
  shutDown(): void {
    this.#stopped = true;
    for (const { cancel } of this.#delayed.values()) cancel();
    this.#delayed.clear();
    this.#ready.clear();
    this.#metrics?.depth(0);
    for (const resolve of this.#waiting.splice(0)) resolve(undefined);
  }

  #push(key: string): void {
    this.#ready.set(key, this.#clock.now());
    const resolve = this.#waiting.shift();
    if (resolve) resolve(this.#take());
    else this.#metrics?.depth(this.#ready.size);
  }

  #take(): string | undefined {
    for (const [key, since] of this.#ready) {
      const now = this.#clock.now();
      this.#ready.delete(key);
      this.#working.set(key, { since: now, again: false });
      this.#metrics?.depth(this.#ready.size);
      this.#metrics?.taken((now - since) / 1000);
      return key;
    }
    return undefined;
  }
}

/**
 * One timer per key. If several times are requested, only the earliest applies; the callback must request later
 * times again. Unlike the delays of a work queue, these timers are independent of other requests for the key.
 */
export class KeyedTimers {
  readonly #clock: Clock;
  readonly #callback: (key: string) => void;
  readonly #set = new Map<string, { at: number; cancel: () => void }>();

  constructor(clock: Clock, callback: (key: string) => void) {
    this.#clock = clock;
    this.#callback = callback;
  }

  /** Fires for `key` after a delay in milliseconds, or earlier if an earlier time was requested before. */
  set(key: string, inMs: number): void {
    const at = this.#clock.now() + inMs;
    const before = this.#set.get(key);
    if (before && before.at <= at) return;
    before?.cancel();
    const cancel = this.#clock.after(inMs, () => {
      this.#set.delete(key);
      this.#callback(key);
    });
    this.#set.set(key, { at, cancel });
  }

  /** Cancels all timers. */
  clear(): void {
    for (const { cancel } of this.#set.values()) cancel();
    this.#set.clear();
  }
}
