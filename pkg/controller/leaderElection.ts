import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { type Clock, sleep, systemClock } from "../async/clock.ts";
import { getErrorMessage } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import type { Logger } from "../telemetry/log.ts";
import type { LeaderMetrics } from "../telemetry/metrics.ts";
import { computeWaitMs, type ElectionTimes, findElectionTimesProblem, LeaseHold, LeaseView, LeaseWatch, RETRY_JITTER } from "./lease.ts";

/** Dependencies and options of an election. */
export interface LeaderElectionInit {
  client: Pick<Client, "get" | "create" | "replace" | "watch">;
  namespace: string;
  /** Name of the Lease. */
  name: string;
  /** Version of this server, for an annotation of the Lease. */
  version: string;
  times: ElectionTimes;
  log: Logger;
  metrics?: LeaderMetrics;
  /** Identifies the process; default: the host name and a random suffix. */
  identity?: string;
  /**
   * Returns how long this replica leaves a free Lease to other replicas because it is not ready to lead. Called
   * repeatedly. Default 0.
   */
  standBackMs?: () => number;
  clock?: Clock;
  /** Returns the current time in milliseconds since the epoch, for the times in the Lease. */
  now?: () => number;
  /** Random number from 0 up to 1. */
  random?: () => number;
}

/** Abort reason of a leader's signal if another process leads, or may lead soon. */
export class LeadershipLost extends Error {
  override readonly name = "LeadershipLost";
}

/** Interval of checks while a free Lease is left to other replicas. */
const STAND_BACK_LOOK_MS = 500;
/** Maximum delay after a conflicting write. */
const CONFLICT_MS = 1_000;
/**
 * Maximum time for leader tasks to end after leadership was lost. If they take longer, the process must exit,
 * because its writes may conflict with those of the new leader.
 */
const STOP_WORK_MS = 30_000;
/** Maximum time after a stop to wait for the response to a write that may have acquired the Lease, so that it can be released. */
const STOP_WRITE_MS = 5_000;

/**
 * Elects one of several replicas as leader with a Lease. A leader stops immediately when a renewal is overdue by its
 * own monotonic clock, or when another process holds the Lease. Another replica takes over when the Lease is released,
 * or when the holder has not renewed it for its duration.
 * @see k8s.io/client-go v0.36 tools/leaderelection
 */
export class LeaderElection {
  readonly identity: string;
  readonly #init: LeaderElectionInit;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #view: LeaseView;
  readonly #watch: LeaseWatch;
  readonly #hold: LeaseHold;
  /** Ends the current term; undefined while this process is not the leader. */
  #leave: ((why: string) => void) | undefined;

  /** @throws Error if the configured times are inconsistent. */
  constructor(init: LeaderElectionInit) {
    const problem = findElectionTimesProblem(init.times);
    if (problem !== undefined) throw new Error(problem);
    const { client, namespace, name, version, times, clock = systemClock, now = Date.now } = init;
    this.#init = init;
    this.identity = init.identity ?? `${hostname()}_${randomUUID()}`;
    this.#clock = clock;
    this.#log = init.log.child({ lease: `${namespace}/${name}`, identity: this.identity });
    const [log, view] = [this.#log, new LeaseView(clock)];
    this.#view = view;
    this.#watch = new LeaseWatch({ client, namespace, name, view, clock, log });
    this.#hold = new LeaseHold({ client, namespace, name, identity: this.identity, version, times, view, log, clock, now });
  }

  /**
   * Whether this process may currently act as leader. False as soon as a renewal is overdue, even before a timer
   * fires.
   */
  get leading(): boolean {
    return this.#hold.leftMs > 0;
  }

  /**
   * Guard for clients that only the leader may use for writes. @throws LeadershipLost while this process is not the
   * leader.
   */
  readonly mustLead = (): void => {
    if (!this.leading) throw new LeadershipLost("write rejected: this process is not the leader, or may lose leadership soon");
  };

  /** Last known holder of the Lease; empty if there is none. */
  get holder(): string {
    return this.#view.record?.holderIdentity ?? "";
  }

  /**
   * Ends the current term, if any: aborts the leader tasks, releases the Lease and continues the election. Unless
   * `standBackMs` of this replica is greater than 0, it may become the leader again immediately.
   */
  stepDown(why: string): void {
    this.#leave?.(why);
  }

  /**
   * Takes part in the election until `signal` aborts. Calls `lead` for each term; `lead` must run until its signal
   * aborts and return when all its work has ended. Continues the election after a lost term. When `signal` aborts,
   * releases the Lease after `lead` has returned.
   * @throws the error of `lead`. @throws Error if `lead` returns early, or still runs some time after a lost term.
   */
  async run(signal: AbortSignal, lead: (term: AbortSignal) => Promise<void>): Promise<void> {
    this.#init.metrics?.leading(false);
    const stop = new AbortController();
    const watching = this.#watch.run(stop.signal);
    try {
      while (!signal.aborted) if (await this.#acquire(signal)) await this.#term(signal, lead);
    } finally {
      stop.abort();
      await watching;
    }
  }

  /** Acquires the Lease. @returns false only if `signal` aborted and the Lease is not held */
  async #acquire(signal: AbortSignal): Promise<boolean> {
    const writing = new AbortController();
    const giveUp = (): void => void this.#clock.after(STOP_WRITE_MS, () => writing.abort(signal.reason));
    signal.addEventListener("abort", giveUp, { once: true });
    try {
      return await this.#tryToAcquire(signal, writing.signal);
    } finally {
      signal.removeEventListener("abort", giveUp);
    }
  }

  /** @param writing the signal for writes, which aborts later than `signal` */
  async #tryToAcquire(signal: AbortSignal, writing: AbortSignal): Promise<boolean> {
    const { times, standBackMs = () => 0 } = this.#init;
    const { retryPeriodMs } = times;
    this.#log.info("attempting to acquire leader lease");
    let reported = "";
    let freeSince: number | undefined;
    let known = false;
    while (!signal.aborted) {
      if (!known || !this.#watch.open) known = await this.#hold.refresh(signal);
      if (this.holder !== "" && this.holder !== reported) this.#log.info({ leader: (reported = this.holder) }, "new leader elected");
      const busyMs = computeWaitMs(this.#view.record, this.identity, times) - this.#view.unchangedMs;
      freeSince = busyMs > 0 ? undefined : (freeSince ?? this.#clock.now());
      if (!known) await sleep(this.#clock, this.#jittered(retryPeriodMs), signal);
      else if (freeSince === undefined) await this.#view.pause(Math.min(busyMs, this.#jittered(retryPeriodMs)), signal);
      else if (this.#clock.now() - freeSince < standBackMs()) await this.#view.pause(STAND_BACK_LOOK_MS, signal);
      else {
        const result = await this.#hold.write(writing);
        if (result === "held") return true;
        await sleep(this.#clock, this.#jittered(result === "conflict" ? Math.min(CONFLICT_MS, retryPeriodMs) : retryPeriodMs), signal);
      }
    }
    return false;
  }

  async #term(signal: AbortSignal, lead: (term: AbortSignal) => Promise<void>): Promise<void> {
    const lost = new AbortController();
    const left = new AbortController();
    const ended = new AbortController();
    const term = AbortSignal.any([signal, lost.signal, left.signal]);
    this.#leave = (why) => {
      if (term.aborted) return;
      this.#log.warn({ reason: why }, "stepping down as leader");
      left.abort(new LeadershipLost(`no longer the leader: ${why}`));
    };
    this.#log.info("successfully acquired lease");
    this.#init.metrics?.leading(true);
    const lose = (why: string): void => {
      if (lost.signal.aborted || ended.signal.aborted) return;
      this.#hold.drop();
      this.#init.metrics?.leading(false);
      this.#log.error({ reason: why, leader: this.holder }, "leadership lost");
      lost.abort(new LeadershipLost(`no longer the leader: ${why}`));
    };
    const stopped = AbortSignal.any([lost.signal, ended.signal]);
    const termEnded = AbortSignal.any([lost.signal, left.signal]);
    const renewing = Promise.all([this.#renew(lose, stopped, lost.signal), this.#watchHolder(lose, stopped)]);
    try {
      await Promise.race([this.#work(lead, term), this.#overtime(termEnded)]);
    } finally {
      this.#leave = undefined;
      ended.abort();
      await renewing;
      if (!lost.signal.aborted) await this.#hold.release();
      this.#hold.drop();
      this.#init.metrics?.leading(false);
    }
  }

  async #work(lead: (term: AbortSignal) => Promise<void>, term: AbortSignal): Promise<void> {
    try {
      if (!term.aborted) await lead(term);
    } catch (err) {
      if (!term.aborted) throw err;
      this.#log.debug({ reason: getErrorMessage(err) }, "leader tasks failed while stopping");
    }
    if (!term.aborted) throw new Error("leader tasks exited unexpectedly");
  }

  /** Never returns; throws if leader tasks still run some time after the end of the term. */
  async #overtime(termEnded: AbortSignal): Promise<never> {
    await new Promise((resolve) => termEnded.addEventListener("abort", resolve, { once: true }));
    await new Promise<void>((resolve) => void this.#clock.after(STOP_WORK_MS, resolve));
    throw new Error(`leader tasks are still running ${STOP_WORK_MS / 1_000} s after the end of leadership`);
  }

  /**
   * Renews the Lease until `stopped`. Then, unless the term was lost, waits for a write in progress, because the
   * release depends on its result.
   */
  async #renew(lose: (why: string) => void, stopped: AbortSignal, lost: AbortSignal): Promise<void> {
    const { renewDeadlineMs, retryPeriodMs } = this.#init.times;
    const arm = (): (() => void) =>
      this.#clock.after(this.#hold.leftMs, () => lose(`the lease was not renewed for ${renewDeadlineMs / 1_000} s`));
    let disarm = arm();
    let dueAt = this.#clock.now() + retryPeriodMs;
    let deleted = false;
    while (!stopped.aborted) {
      const gone = this.#view.lease === undefined;
      if (gone && !deleted) dueAt = this.#clock.now();
      deleted = gone;
      const leftMs = dueAt - this.#clock.now();
      if (leftMs > 0) {
        await this.#view.pause(leftMs, stopped);
        continue;
      }
      const written = await this.#hold.write(lost);
      if (written === "held") {
        disarm();
        disarm = arm();
      }
      dueAt = this.#clock.now() + (written === "conflict" ? Math.min(CONFLICT_MS, retryPeriodMs) : retryPeriodMs);
    }
    disarm();
  }

  /** Ends the term as soon as another process holds the Lease. */
  async #watchHolder(lose: (why: string) => void, stopped: AbortSignal): Promise<void> {
    while (!stopped.aborted) {
      if (this.#hold.isTaken) lose(this.holder === "" ? "the lease has no holder" : "the lease has another holder");
      else await this.#view.pause(this.#init.times.retryPeriodMs, stopped);
    }
  }

  #jittered(ms: number): number {
    return ms * (1 + (this.#init.random ?? Math.random)() * (RETRY_JITTER - 1));
  }
}
