import { type Clock, systemClock } from "../async/clock.ts";
import type { QueueMetrics } from "../telemetry/metrics.ts";

/** How long failing keys wait, and what counts them. */
export interface WorkQueueOptions {
  /** Delay of a key's first rate-limited add; doubles with each one until `forget`. Default 5 ms. */
  baseDelayMs?: number;
  /** Longest such delay. Default 1,000 s. */
  maxDelayMs?: number;
  clock?: Clock;
  metrics?: QueueMetrics;
}

interface Delayed {
  at: number;
  cancel: () => void;
}

/**
 * Keys to work on. A key stands in it once however often it is added, and is never handed out while somebody works on it: what is added
 * meanwhile comes after `done`. Order is first in, first out.
 * @see k8s.io/client-go v0.36.3 util/workqueue
 */
export class WorkQueue {
  readonly #baseDelayMs: number;
  readonly #maxDelayMs: number;
  readonly #clock: Clock;
  readonly #metrics: QueueMetrics | undefined;
  /** Ready keys with the time they became so, in order. */
  readonly #ready = new Map<string, number>();
  readonly #working = new Map<string, { since: number; again: boolean }>();
  readonly #delayed = new Map<string, Delayed>();
  readonly #failures = new Map<string, number>();
  readonly #takers: ((key: string | undefined) => void)[] = [];
  #stopped = false;

  constructor({ baseDelayMs = 5, maxDelayMs = 1_000_000, clock = systemClock, metrics }: WorkQueueOptions = {}) {
    this.#baseDelayMs = baseDelayMs;
    this.#maxDelayMs = maxDelayMs;
    this.#clock = clock;
    this.#metrics = metrics;
  }

  /** Keys ready to be taken; neither those being worked on nor delayed ones. */
  get length(): number {
    return this.#ready.size;
  }

  /** Adds a key; does nothing when it is ready already or after `shutDown`. */
  add(key: string): void {
    if (this.#stopped || this.#ready.has(key)) return;
    const working = this.#working.get(key);
    if (working?.again) return;
    this.#metrics?.added();
    if (working) working.again = true;
    else this.#push(key);
  }

  /** Adds a key later; of several delays for one key the shortest holds. */
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
   * Adds a key after its back-off: base · 2ⁿ for the n-th time since `forget`, at most the maximum.
   * @param atLeastMs delays longer than the back-off would, when a server asked for it.
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

  /** Ends a key's back-off; it says nothing about what is queued. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** The next key, as soon as there is one; undefined after `shutDown`. Every key taken must be given to `done`. */
  get(): Promise<string | undefined> {
    if (this.#stopped) return Promise.resolve(undefined);
    const taken = this.#take();
    if (taken !== undefined) return Promise.resolve(taken);
    return new Promise((resolve) => this.#takers.push(resolve));
  }

  /** Ends the work on a key; it comes again when it was added meanwhile. */
  done(key: string): void {
    const working = this.#working.get(key);
    if (!working) return;
    this.#working.delete(key);
    this.#metrics?.worked((this.#clock.now() - working.since) / 1000);
    if (working.again && !this.#stopped) this.#push(key);
  }

  /** Drops everything that waits and lets every `get` return undefined; keys being worked on are not disturbed. */
  shutDown(): void {
    this.#stopped = true;
    for (const { cancel } of this.#delayed.values()) cancel();
    this.#delayed.clear();
    this.#ready.clear();
    this.#metrics?.depth(0);
    for (const taker of this.#takers.splice(0)) taker(undefined);
  }

  #push(key: string): void {
    this.#ready.set(key, this.#clock.now());
    const taker = this.#takers.shift();
    if (taker) taker(this.#take());
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
 * One alarm a key: of several times that are asked for, the earliest holds until it rings, and the later ones are given up: who is rung asks
 * again for what is not due yet. A delay of a work queue for another purpose takes the place of none.
 */
export class KeyedTimers {
  readonly #clock: Clock;
  readonly #ring: (key: string) => void;
  readonly #set = new Map<string, { at: number; cancel: () => void }>();

  constructor(clock: Clock, ring: (key: string) => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** Rings for `key` after so many milliseconds, or sooner where that was asked for before. */
  set(key: string, inMs: number): void {
    const at = this.#clock.now() + inMs;
    const before = this.#set.get(key);
    if (before && before.at <= at) return;
    before?.cancel();
    const cancel = this.#clock.after(inMs, () => {
      this.#set.delete(key);
      this.#ring(key);
    });
    this.#set.set(key, { at, cancel });
  }

  /** Takes back what was asked for, for all keys. */
  clear(): void {
    for (const { cancel } of this.#set.values()) cancel();
    this.#set.clear();
  }
}
