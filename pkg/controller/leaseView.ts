import { canonicalJson } from "../golang/json.ts";
import type { Clock } from "../async/clock.ts";
import type { Lease, LeaseSpec } from "./leaseRecord.ts";

/**
 * What this process saw of the Lease, and when by its own clock. The clocks of others, and so the times in the record, say nothing: a record that
 * changed is a sign of life, whatever stands in it.
 */
export class LeaseView {
  readonly #clock: Clock;
  #lease: Lease | undefined;
  #record: LeaseSpec | undefined;
  #changedAt = 0;
  #news = Promise.withResolvers<void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The object as last seen; undefined while there is none. */
  get lease(): Lease | undefined {
    return this.#lease;
  }

  /** The record as last seen; stays when the object is deleted, since who held it may not know of that yet. */
  get record(): LeaseSpec | undefined {
    return this.#record;
  }

  /** Milliseconds since the record was first seen as it is. */
  get unchangedMs(): number {
    return this.#clock.now() - this.#changedAt;
  }

  /** Waits, at most until something about the Lease changes. */
  async pause(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const over = Promise.withResolvers<void>();
    const end = (): void => over.resolve();
    const cancel = this.#clock.after(ms, end);
    signal.addEventListener("abort", end, { once: true });
    await Promise.race([over.promise, this.#news.promise]);
    cancel();
    signal.removeEventListener("abort", end);
  }

  /** Takes in the API server's own answer about the object. */
  set(lease: Lease | undefined): void {
    const before = this.#lease;
    this.#lease = lease;
    if (lease && (!this.#record || canonicalJson(lease.spec ?? {}) !== canonicalJson(this.#record))) {
      this.#record = lease.spec ?? {};
      this.#changedAt = this.#clock.now();
    }
    if (before?.metadata.resourceVersion === lease?.metadata.resourceVersion) return;
    const news = this.#news;
    this.#news = Promise.withResolvers();
    news.resolve();
  }

  /** Takes in an event of a watch, unless it is older than what is known already. */
  takeEvent(type: "ADDED" | "MODIFIED" | "DELETED", lease: Lease): void {
    if (isOlder(lease, this.#lease)) return;
    this.set(type === "DELETED" ? undefined : lease);
  }
}

/** Versions of one resource are numbers that grow; what is none is not compared. */
function isOlder(one: Lease, other: Lease | undefined): boolean {
  const [a, b] = [one, other].map((lease) => lease?.metadata.resourceVersion ?? "");
  return /^\d+$/.test(a ?? "") && /^\d+$/.test(b ?? "") && BigInt(a ?? "") < BigInt(b ?? "");
}
