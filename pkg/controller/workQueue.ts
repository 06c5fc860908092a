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

/** Keys of low priority wait while others are ready. */
export type Priority = "normal" | "low";

/** Number of keys of normal priority after which one of low priority follows, so that it never waits forever. */
const NORMAL_IN_A_ROW = 8;

interface Delayed {
  at: number;
  cancel: () => void;
}

/**
 * A queue of keys to work on: those of normal priority first, each priority in the order of arrival. A key is in the queue at most once. A key that is
 * being worked on is not returned again: if it is added meanwhile, it is queued when `done` is called.
 * @see k8s.io/client-go v0.36.3 util/workqueue; priorities as in sigs.k8s.io/controller-runtime v0.23.0 pkg/controller/priorityqueue
 */
export class WorkQueue {
  readonly #baseDelayMs: number;
  readonly #maxDelayMs: number;
  readonly #clock: Clock;
  readonly #metrics: QueueMetrics | undefined;
  /** Ready keys of each priority in order, with the time at which they became ready. */
  readonly #ready: Readonly<Record<Priority, Map<string, number>>> = { normal: new Map(), low: new Map() };
  readonly #working = new Map<string, { since: number; again: Priority | undefined }>();
  readonly #delayed = new Map<string, Delayed>();
  readonly #failures = new Map<string, number>();
  readonly #waiting: ((key: string | undefined) => void)[] = [];
  /** Keys of normal priority that were taken while one of low priority was ready. */
  #preferred = 0;
  #stopped = false;

  constructor({ baseDelayMs = 5, maxDelayMs = 1_000_000, clock = systemClock, metrics }: WorkQueueOptions = {}) {
    this.#baseDelayMs = baseDelayMs;
    this.#maxDelayMs = maxDelayMs;
    this.#clock = clock;
    this.#metrics = metrics;
  }

  /** Number of ready keys, without delayed keys and keys that are being worked on. */
  get length(): number {
    return this.#ready.normal.size + this.#ready.low.size;
  }

  /** Adds a key. If it is ready, only raises its priority. Does nothing after `shutDown`. */
  add(key: string, priority: Priority = "normal"): void {
    if (this.#stopped || this.#ready.normal.has(key)) return;
    const { normal, low } = this.#ready;
    const lowSince = low.get(key);
    if (lowSince !== undefined) {
      if (priority === "low") return;
      low.delete(key);
      normal.set(key, lowSince);
      return;
    }
    const working = this.#working.get(key);
    if (!working?.again) this.#metrics?.added();
    if (!working) this.#push(key, priority);
    else if (working.again !== "normal") working.again = priority;
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
    if (working.again && !this.#stopped) this.#push(key, working.again);
  }

  /** Drops all queued keys, and lets every `get` return undefined. Does not affect keys being worked on. */
  shutDown(): void {
    this.#stopped = true;
    for (const { cancel } of this.#delayed.values()) cancel();
    this.#delayed.clear();
    for (const ready of Object.values(this.#ready)) ready.clear();
    this.#metrics?.depth(0);
    for (const resolve of this.#waiting.splice(0)) resolve(undefined);
  }

  #push(key: string, priority: Priority): void {
    this.#ready[priority].set(key, this.#clock.now());
    const resolve = this.#waiting.shift();
    if (resolve) resolve(this.#take());
    else this.#metrics?.depth(this.length);
  }

  #take(): string | undefined {
    const { normal, low } = this.#ready;
    const isLowsTurn = normal.size === 0 || (low.size > 0 && this.#preferred >= NORMAL_IN_A_ROW);
    this.#preferred = isLowsTurn || low.size === 0 ? 0 : this.#preferred + 1;
    const ready = isLowsTurn ? low : normal;
    for (const [key, since] of ready) {
      const now = this.#clock.now();
      ready.delete(key);
      this.#working.set(key, { since: now, again: undefined });
      this.#metrics?.depth(this.length);
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
