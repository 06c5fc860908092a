import { ANNOTATION_PROGRAM_VERSION } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import { Backoff } from "../async/backoff.ts";
import { type Clock, Deadline, sleep } from "../async/clock.ts";
import { messageOf } from "../errors/errors.ts";
import { canonicalJson } from "../golang/json.ts";
import type { Client } from "../kube/client.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../kube/errors.ts";
import type { Logger } from "../telemetry/log.ts";

/** Kind of the object by which replicas agree on a leader. */
export const LEASE = { apiVersion: "coordination.k8s.io/v1", kind: "Lease" } as const;

/** The members of coordination.k8s.io/v1 LeaseSpec that elections use; others survive. */
export interface LeaseSpec {
  holderIdentity?: string;
  leaseDurationSeconds?: number;
  /** RFC 3339 with six digits behind the second; written for people and never compared with a clock. */
  acquireTime?: string;
  renewTime?: string;
  leaseTransitions?: number;
  [member: string]: unknown;
}

/** A Lease of coordination.k8s.io/v1. */
export interface Lease extends KubeObject {
  spec?: LeaseSpec;
}

/** How long an election waits for what; milliseconds. */
export interface ElectionTimes {
  /** How long others leave a leader alone that does not renew. */
  leaseDurationMs: number;
  /** How long a leader works on after the last renewal that succeeded. */
  renewDeadlineMs: number;
  /** How often a leader renews, and how long anybody waits after a failed attempt. */
  retryPeriodMs: number;
}

/** controller-runtime spreads attempts over so much more than the retry period. */
export const RETRY_JITTER = 1.2;
/** What a release writes for the duration, which may not be zero. @see k8s.io/client-go v0.36.3 tools/leaderelection, release */
const RELEASED_SECONDS = 1;
/** A holder that says more than this is not waited for any longer. */
const MAX_DURATION_MS = 3_600_000;

/** What is wrong with the times, in client-go's words; undefined when they fit together. */
export function electionTimesProblem({ leaseDurationMs, renewDeadlineMs, retryPeriodMs }: ElectionTimes): string | undefined {
  if (leaseDurationMs <= renewDeadlineMs) return "leaseDuration must be greater than renewDeadline";
  if (renewDeadlineMs <= RETRY_JITTER * retryPeriodMs) return "renewDeadline must be greater than retryPeriod*JitterFactor";
  return undefined;
}

/** The record with which `identity` takes the Lease, or renews it when it has it. @param now RFC 3339 with six digits. */
function heldBy(identity: string, before: LeaseSpec | undefined, leaseDurationMs: number, now: string): LeaseSpec {
  const leaseDurationSeconds = Math.ceil(leaseDurationMs / 1_000);
  if (!before) return { holderIdentity: identity, leaseDurationSeconds, acquireTime: now, renewTime: now, leaseTransitions: 0 };
  const ours = before.holderIdentity === identity;
  const { acquireTime = now, leaseTransitions = 0 } = before;
  return {
    ...before,
    holderIdentity: identity,
    leaseDurationSeconds,
    renewTime: now,
    acquireTime: ours ? acquireTime : now,
    leaseTransitions: ours ? leaseTransitions : leaseTransitions + 1,
  };
}

/** The record that says that nobody leads any more. */
function released(before: LeaseSpec, now: string): LeaseSpec {
  return { ...before, holderIdentity: "", leaseDurationSeconds: RELEASED_SECONDS, acquireTime: now, renewTime: now };
}

/**
 * How long `identity` has to leave the Lease alone, counted from when it saw the record change last; 0 or less once it may take it.
 *
 * | the record                    | may be taken after |
 * | none was ever seen            | nothing |
 * | held by `identity`            | nothing |
 * | released                      | nothing |
 * | without holder, not released  | the retry period: it was emptied by hand, and who held it notices meanwhile |
 * | held by somebody              | the holder's duration or our own, whichever is longer, so that a duration edited by hand makes no second leader |
 */
export function waitMs(record: LeaseSpec | undefined, identity: string, { leaseDurationMs, retryPeriodMs }: ElectionTimes): number {
  const { holderIdentity: holder = "", leaseDurationSeconds = 0 } = record ?? {};
  if (!record || holder === identity) return 0;
  if (holder === "") return leaseDurationSeconds === RELEASED_SECONDS ? 0 : retryPeriodMs;
  return Math.max(leaseDurationMs, Math.min(leaseDurationSeconds * 1_000, MAX_DURATION_MS));
}

/** What reading and writing a Lease needs. */
export interface LeaseHoldInit {
  client: Pick<Client, "get" | "create" | "replace">;
  namespace: string;
  name: string;
  identity: string;
  /** Version of the program, for the annotation of the Lease. */
  version: string;
  times: ElectionTimes;
  view: LeaseView;
  log: Logger;
  clock: Clock;
  /** Milliseconds since the epoch, for the times in the record. */
  now: () => number;
}

/** How a write ended; after a conflict, the view is what the API server says. */
export type LeaseWrite = "held" | "conflict" | "failed";

const RELEASE_TRIES = 3;
const RELEASE_TIMEOUT_MS = 5_000;

/** One process's hold of a Lease. Each write is bound to the version that was seen, so of two that take it at once one gets it. */
export class LeaseHold {
  readonly #init: LeaseHoldInit;
  /** When the request of the last write that succeeded was sent; undefined while it is not held. */
  #since: number | undefined;

  constructor(init: LeaseHoldInit) {
    this.#init = init;
  }

  /** How long the hold may still be relied on, by our own clock; 0 or less when it may not, and as soon as the Lease is seen in other hands. */
  get leftMs(): number {
    const { clock, times } = this.#init;
    return this.#since === undefined || this.isTaken ? 0 : this.#since + times.renewDeadlineMs - clock.now();
  }

  /** Whether somebody else has the Lease, or emptied it. A deleted one is nobody's. */
  get isTaken(): boolean {
    const { view, identity } = this.#init;
    return view.lease !== undefined && view.lease.spec?.holderIdentity !== identity;
  }

  /** Writes that this process holds the Lease, from now on or still. What `signal` aborts is not relied on, though it may have been written. */
  async write(signal: AbortSignal): Promise<LeaseWrite> {
    const { client, namespace, name, identity, version, times, view, log, clock, now } = this.#init;
    const lease = view.lease;
    const annotations = { ...lease?.metadata.annotations, [ANNOTATION_PROGRAM_VERSION]: version };
    const spec = heldBy(identity, lease?.spec, times.leaseDurationMs, microTime(now()));
    const sentAt = clock.now();
    try {
      using deadline = this.#deadline(signal);
      const options = { signal: deadline.signal };
      const written: Lease = lease
        ? await client.replace<Lease>({ ...lease, ...LEASE, metadata: { ...lease.metadata, annotations }, spec }, options)
        : await client.create<Lease>({ ...LEASE, metadata: { name, namespace, annotations }, spec }, options);
      if (signal.aborted) return "failed";
      view.set(written);
      this.#since = sentAt;
      return "held";
    } catch (err) {
      if (signal.aborted) return "failed";
      if (isConflict(err) || isNotFound(err) || isAlreadyExists(err)) return (await this.refresh(signal)) ? "conflict" : "failed";
      log.warn({ reason: messageOf(err) }, "lease not written");
      return "failed";
    }
  }

  /** Asks the API server for the Lease. @returns whether it answered. */
  async refresh(signal: AbortSignal): Promise<boolean> {
    const { client, namespace, name, view, log } = this.#init;
    try {
      using deadline = this.#deadline(signal);
      view.set(await client.get<Lease>({ ...LEASE, namespace, name }, { signal: deadline.signal }));
      return true;
    } catch (err) {
      if (!signal.aborted) log.warn({ reason: messageOf(err) }, "lease not read");
      return false;
    }
  }

  /** From now on the Lease does not count as held, whatever stands in it. */
  drop(): void {
    this.#since = undefined;
  }

  /** Lets others take over at once. Those who cannot be told find out after the lease's duration. */
  async release(): Promise<void> {
    const { client, identity, view, log, now } = this.#init;
    this.drop();
    const signal = AbortSignal.timeout(RELEASE_TIMEOUT_MS);
    for (let tries = 0; tries < RELEASE_TRIES; tries++) {
      const lease = view.lease;
      if (lease?.spec?.holderIdentity !== identity) return;
      try {
        view.set(await client.replace<Lease>({ ...lease, ...LEASE, spec: released(lease.spec, microTime(now())) }, { signal }));
        log.info("released the lease");
        return;
      } catch (err) {
        log.warn({ reason: messageOf(err) }, "lease not released");
        if (!isConflict(err) || !(await this.refresh(signal))) return;
      }
    }
  }

  #deadline(signal: AbortSignal): Deadline {
    return new Deadline(signal, this.#init.times.renewDeadlineMs / 2);
  }
}

/** metav1.MicroTime. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}

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

/** What following a Lease needs. */
export interface LeaseWatchInit {
  client: Pick<Client, "watch">;
  namespace: string;
  name: string;
  view: LeaseView;
  clock: Clock;
  log: Logger;
}

const BASE_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 15_000;

/**
 * Keeps the view of a Lease up to date by a watch, so that a release is noticed at once. Each watch begins with the present state, so none is
 * missed between two of them but a deletion, which whoever writes next is told of.
 */
export class LeaseWatch {
  readonly #init: LeaseWatchInit;
  #open = false;

  constructor(init: LeaseWatchInit) {
    this.#init = init;
  }

  /** Whether changes arrive by themselves now. */
  get open(): boolean {
    return this.#open;
  }

  /** Follows until `signal` aborts; never throws. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#init;
    const backoff = new Backoff(BASE_BACKOFF_MS, MAX_BACKOFF_MS);
    while (!signal.aborted) {
      try {
        await this.#follow(backoff, signal);
      } catch (err) {
        if (!signal.aborted) log.debug({ reason: messageOf(err) }, "watch of the lease interrupted");
      }
      this.#open = false;
      await sleep(clock, backoff.next(), signal);
    }
  }

  async #follow(backoff: Backoff, signal: AbortSignal): Promise<void> {
    const { client, namespace, name, view } = this.#init;
    const opened = (): void => {
      this.#open = true;
    };
    const selection = { namespace, fieldSelector: `metadata.name=${name}` };
    for await (const { type, object } of client.watch<Lease>(LEASE, { ...selection, resourceVersion: "", signal, opened })) {
      backoff.reset();
      if (type !== "BOOKMARK") view.takeEvent(type, object);
    }
  }
}
