import { ANNOTATION_PROGRAM_VERSION } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import { Backoff } from "../async/backoff.ts";
import { type Clock, Deadline, sleep } from "../async/clock.ts";
import { getErrorMessage } from "../errors/errors.ts";
import { encodeCanonicalJson } from "../golang/json.ts";
import type { Client } from "../kube/client.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../kube/errors.ts";
import type { Logger } from "../telemetry/log.ts";

/** The kind Lease, with which replicas elect a leader. */
export const LEASE = { apiVersion: "coordination.k8s.io/v1", kind: "Lease" } as const;

/** The fields of coordination.k8s.io/v1 LeaseSpec that elections use; other fields are kept. */
export interface LeaseSpec {
  holderIdentity?: string;
  leaseDurationSeconds?: number;
  /** RFC 3339 with microseconds. Only for users, never compared with a clock. */
  acquireTime?: string;
  renewTime?: string;
  leaseTransitions?: number;
  [member: string]: unknown;
}

/** A Lease of coordination.k8s.io/v1. */
export interface Lease extends KubeObject {
  spec?: LeaseSpec;
}

/** The process that holds a Lease. */
export interface Leader {
  readonly identity: string;
  /** Version of its server; absent if the Go implementation wrote the Lease. */
  readonly version?: string;
}

/**
 * Returns the holder of a Lease as leader; undefined if the Lease has no holder or the holder did not renew it in time. For reports
 * only: candidates never compare times from different clocks.
 * @param now the API server's clock, milliseconds since the epoch
 */
export function findLeader(lease: Lease | undefined, now: number): Leader | undefined {
  const { holderIdentity: identity = "", leaseDurationSeconds = 0, renewTime = "" } = lease?.spec ?? {};
  if (identity === "" || !(now - Date.parse(renewTime) <= leaseDurationSeconds * 1_000)) return undefined;
  const version = lease?.metadata.annotations?.[ANNOTATION_PROGRAM_VERSION];
  return { identity, ...(version === undefined ? {} : { version }) };
}

/** Times of an election, in milliseconds. */
export interface ElectionTimes {
  /** Time that other replicas wait for a leader that does not renew the Lease. */
  leaseDurationMs: number;
  /** Time for which a leader continues to lead after its last successful renewal. */
  renewDeadlineMs: number;
  /** Interval between renewals, and delay after a failed attempt. */
  retryPeriodMs: number;
}

/** Jitter factor for the retry period, as in controller-runtime. */
export const RETRY_JITTER = 1.2;
/**
 * Lease duration to write on release, because it must not be zero. @see k8s.io/client-go v0.36.3
 * tools/leaderelection, release
 */
const RELEASED_SECONDS = 1;
/** Upper limit for the duration in a record that replicas wait for. */
const MAX_DURATION_MS = 3_600_000;

/** Returns the error message of client-go for inconsistent times; undefined if the times are consistent. */
export function findElectionTimesProblem({ leaseDurationMs, renewDeadlineMs, retryPeriodMs }: ElectionTimes): string | undefined {
  if (leaseDurationMs <= renewDeadlineMs) return "leaseDuration must be greater than renewDeadline";
  if (renewDeadlineMs <= RETRY_JITTER * retryPeriodMs) return "renewDeadline must be greater than retryPeriod*JitterFactor";
  return undefined;
}

/** Returns the record with which `identity` acquires or renews the Lease. @param now RFC 3339 with microseconds. */
function buildRecord(identity: string, before: LeaseSpec | undefined, leaseDurationMs: number, now: string): LeaseSpec {
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

/** Returns the record of a released Lease. */
function buildReleasedRecord(before: LeaseSpec, now: string): LeaseSpec {
  return { ...before, holderIdentity: "", leaseDurationSeconds: RELEASED_SECONDS, acquireTime: now, renewTime: now };
}

/**
 * Returns how long `identity` must wait for the Lease after the last change of the record; 0 or less if it may acquire
 * it.
 *
 * | the record                    | wait |
 * | never seen                    | none |
 * | held by `identity`            | none |
 * | released                      | none |
 * | without holder, not released  | the retry period: the Lease was edited, and its previous holder must notice first |
 * | held by another process       | the longer of the holder's duration and our own, so that an edited duration cannot cause a second leader |
 */
export function computeWaitMs(record: LeaseSpec | undefined, identity: string, { leaseDurationMs, retryPeriodMs }: ElectionTimes): number {
  const { holderIdentity: holder = "", leaseDurationSeconds = 0 } = record ?? {};
  if (!record || holder === identity) return 0;
  if (holder === "") return leaseDurationSeconds === RELEASED_SECONDS ? 0 : retryPeriodMs;
  return Math.max(leaseDurationMs, Math.min(leaseDurationSeconds * 1_000, MAX_DURATION_MS));
}

/** Dependencies for reading and writing a Lease. */
export interface LeaseHoldInit {
  client: Pick<Client, "get" | "create" | "replace">;
  namespace: string;
  name: string;
  identity: string;
  /** Version of the server, for the annotation of the Lease. */
  version: string;
  times: ElectionTimes;
  view: LeaseView;
  log: Logger;
  clock: Clock;
  /** Returns the current time in milliseconds since the epoch, for the times in the Lease. */
  now: () => number;
}

/** Result of a write. After a conflict, the view contains the current Lease from the API server. */
export type LeaseWrite = "held" | "conflict" | "failed";

const RELEASE_TRIES = 3;
const RELEASE_TIMEOUT_MS = 5_000;

/**
 * Acquires, renews and releases a Lease for one process. Each write contains the resourceVersion that was read,
 * so that only one of two concurrent writes succeeds.
 */
export class LeaseHold {
  readonly #init: LeaseHoldInit;
  /** Time when the request for the last successful write was sent; undefined while the Lease is not held. */
  #since: number | undefined;

  constructor(init: LeaseHoldInit) {
    this.#init = init;
  }

  /**
   * How long the Lease is still held by the clock of this process; 0 or less if it is not held, or if another process
   * holds it.
   */
  get leftMs(): number {
    const { clock, times } = this.#init;
    return this.#since === undefined || this.isTaken ? 0 : this.#since + times.renewDeadlineMs - clock.now();
  }

  /** Whether another process holds the Lease, or its holder was removed by an edit. False for a deleted Lease. */
  get isTaken(): boolean {
    const { view, identity } = this.#init;
    return view.lease !== undefined && view.lease.spec?.holderIdentity !== identity;
  }

  /**
   * Acquires or renews the Lease. Returns "failed" after `signal` aborts, although the Lease may have been
   * written.
   */
  async write(signal: AbortSignal): Promise<LeaseWrite> {
    const { client, namespace, name, identity, version, times, view, log, clock, now } = this.#init;
    const lease = view.lease;
    const annotations = { ...lease?.metadata.annotations, [ANNOTATION_PROGRAM_VERSION]: version };
    const spec = buildRecord(identity, lease?.spec, times.leaseDurationMs, microTime(now()));
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
      log.warn({ reason: getErrorMessage(err) }, "cannot write the lease");
      return "failed";
    }
  }

  /** Reads the Lease. @returns whether the API server responded. */
  async refresh(signal: AbortSignal): Promise<boolean> {
    const { client, namespace, name, view, log } = this.#init;
    try {
      using deadline = this.#deadline(signal);
      view.set(await client.get<Lease>({ ...LEASE, namespace, name }, { signal: deadline.signal }));
      return true;
    } catch (err) {
      if (!signal.aborted) log.warn({ reason: getErrorMessage(err) }, "cannot read the lease");
      return false;
    }
  }

  /** Treats the Lease as no longer held, regardless of its record. */
  drop(): void {
    this.#since = undefined;
  }

  /**
   * Releases the Lease, so that another replica takes over immediately. If the release fails, another replica takes
   * over after the lease duration.
   */
  async release(): Promise<void> {
    const { client, identity, view, log, now } = this.#init;
    this.drop();
    const signal = AbortSignal.timeout(RELEASE_TIMEOUT_MS);
    for (let tries = 0; tries < RELEASE_TRIES; tries++) {
      const lease = view.lease;
      if (lease?.spec?.holderIdentity !== identity) return;
      try {
        view.set(await client.replace<Lease>({ ...lease, ...LEASE, spec: buildReleasedRecord(lease.spec, microTime(now())) }, { signal }));
        log.info("released the lease");
        return;
      } catch (err) {
        log.warn({ reason: getErrorMessage(err) }, "cannot release the lease");
        if (!isConflict(err) || !(await this.refresh(signal))) return;
      }
    }
  }

  #deadline(signal: AbortSignal): Deadline {
    return new Deadline(signal, this.#init.times.renewDeadlineMs / 2);
  }
}

/** Formats metav1.MicroTime. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}

/**
 * The Lease as this process last read it, and the time of its last change by the clock of this process. Times in the
 * record come from other clocks and are ignored. Any change of the record proves that the holder is alive.
 */
export class LeaseView {
  readonly #clock: Clock;
  #lease: Lease | undefined;
  #record: LeaseSpec | undefined;
  #changedAt = 0;
  #changed = Promise.withResolvers<void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The last known Lease; undefined if it does not exist. */
  get lease(): Lease | undefined {
    return this.#lease;
  }

  /** The last known record. Kept when the Lease is deleted, because the holder may not have noticed the deletion yet. */
  get record(): LeaseSpec | undefined {
    return this.#record;
  }

  /** Milliseconds since the last change of the record. */
  get unchangedMs(): number {
    return this.#clock.now() - this.#changedAt;
  }

  /** Waits until the Lease changes, at most for a given time. */
  async pause(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const finished = Promise.withResolvers<void>();
    const end = (): void => finished.resolve();
    const cancel = this.#clock.after(ms, end);
    signal.addEventListener("abort", end, { once: true });
    await Promise.race([finished.promise, this.#changed.promise]);
    cancel();
    signal.removeEventListener("abort", end);
  }

  /** Updates the view with a response of the API server. */
  set(lease: Lease | undefined): void {
    const before = this.#lease;
    this.#lease = lease;
    if (lease && (!this.#record || encodeCanonicalJson(lease.spec ?? {}) !== encodeCanonicalJson(this.#record))) {
      this.#record = lease.spec ?? {};
      this.#changedAt = this.#clock.now();
    }
    if (before?.metadata.resourceVersion === lease?.metadata.resourceVersion) return;
    const changed = this.#changed;
    this.#changed = Promise.withResolvers();
    changed.resolve();
  }

  /** Updates the view with a watch event, unless it is older. */
  takeEvent(type: "ADDED" | "MODIFIED" | "DELETED", lease: Lease): void {
    if (isOlder(lease, this.#lease)) return;
    this.set(type === "DELETED" ? undefined : lease);
  }
}

/** Compares resourceVersions as numbers. Returns false if one of them is not a number. */
function isOlder(one: Lease, other: Lease | undefined): boolean {
  const [a, b] = [one, other].map((lease) => lease?.metadata.resourceVersion ?? "");
  return /^\d+$/.test(a ?? "") && /^\d+$/.test(b ?? "") && BigInt(a ?? "") < BigInt(b ?? "");
}

/** Dependencies of watching a Lease. */
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
 * Keeps the view of a Lease up to date with a watch, to notice a release immediately. Each watch starts with the
 * current state. A deletion between two watches can be missed: the next write then fails, and the Lease is read again.
 */
export class LeaseWatch {
  readonly #init: LeaseWatchInit;
  #open = false;

  constructor(init: LeaseWatchInit) {
    this.#init = init;
  }

  /** Whether the watch is open. */
  get open(): boolean {
    return this.#open;
  }

  /** Runs until `signal` aborts; never throws. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#init;
    const backoff = new Backoff(BASE_BACKOFF_MS, MAX_BACKOFF_MS);
    while (!signal.aborted) {
      try {
        await this.#follow(backoff, signal);
      } catch (err) {
        if (!signal.aborted) log.debug({ reason: getErrorMessage(err) }, "watch of the lease interrupted");
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
