import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { type Clock, sleep, systemClock } from "../async/clock.ts";
import { messageOf } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import type { Logger } from "../telemetry/log.ts";
import type { LeaderMetrics } from "../telemetry/metrics.ts";
import { type ElectionTimes, electionTimesProblem, LeaseHold, LeaseView, LeaseWatch, RETRY_JITTER, waitMs } from "./lease.ts";

/** What an election is held with. */
export interface LeaderElectionInit {
  client: Pick<Client, "get" | "create" | "replace" | "watch">;
  namespace: string;
  /** Name of the Lease. */
  name: string;
  /** Version of this program; operators read it in an annotation of the Lease. */
  version: string;
  times: ElectionTimes;
  log: Logger;
  metrics?: LeaderMetrics;
  /** Distinguishes processes; host name and a random part by default. */
  identity?: string;
  /** How long a Lease that is free is left to others first, asked again and again; for those who are not fit to lead yet. Default 0. */
  standBackMs?: () => number;
  clock?: Clock;
  /** Milliseconds since the epoch, for the times in the record. */
  now?: () => number;
  /** From 0 up to 1. */
  random?: () => number;
}

/** The reason with which a leader's signal aborts when somebody else leads, or may lead soon. */
export class LeadershipLost extends Error {
  override readonly name = "LeadershipLost";
}

/** A free Lease that is left to others is looked at this often. */
const STAND_BACK_LOOK_MS = 500;
/** Longest pause after a write that came too late, before the next one. */
const CONFLICT_MS = 1_000;
/** Work that does not end within this after a lost term may do harm: the process has to end. */
const STOP_WORK_MS = 30_000;

/**
 * Lets one of several replicas lead, by a Lease. A leader stops at once when a renewal is overdue by its own monotonic clock, or when it sees the
 * Lease in other hands; others take over as soon as they see it released, and after its duration when its holder fell silent.
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
  /** Ends the term under way and leaves the Lease to others. */
  #leave: ((why: string) => void) | undefined;

  /** @throws Error when the times do not fit together. */
  constructor(init: LeaderElectionInit) {
    const problem = electionTimesProblem(init.times);
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

  /** Whether this process may act as leader at this very moment; false as soon as a renewal is overdue, also when no timer has noticed yet. */
  get leading(): boolean {
    return this.#hold.leftMs > 0;
  }

  /** For clients whose writes are the leader's alone. @throws LeadershipLost while this process does not lead. */
  readonly mustLead = (): void => {
    if (!this.leading) throw new LeadershipLost(`not written: another process leads, or may lead soon`);
  };

  /** Who has the Lease, as last seen; empty when nobody has. */
  get holder(): string {
    return this.#view.record?.holderIdentity ?? "";
  }

  /**
   * Ends the term under way, if there is one: its work is aborted, the Lease is released, and the election goes on. Only who says by
   * `standBackMs` that it is not fit to lead leaves it to others that way.
   */
  stepDown(why: string): void {
    this.#leave?.(why);
  }

  /**
   * Takes part until `signal` aborts. `lead` is called for each term; it works until its signal aborts and returns once nothing of its work goes on.
   * After a lost term the election goes on; when `signal` aborts, the Lease is released as soon as `lead` has returned.
   * @throws what `lead` throws; Error when it returns by itself, or works on after a lost term.
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

  /** @returns whether the Lease is ours; false only when `signal` aborted. */
  async #acquire(signal: AbortSignal): Promise<boolean> {
    const { times, standBackMs = () => 0 } = this.#init;
    const { retryPeriodMs } = times;
    this.#log.info("attempting to acquire leader lease");
    let told = "";
    let freeSince: number | undefined;
    let known = false;
    while (!signal.aborted) {
      if (!known || !this.#watch.open) known = await this.#hold.refresh(signal);
      if (this.holder !== "" && this.holder !== told) this.#log.info({ leader: (told = this.holder) }, "new leader elected");
      const busyMs = waitMs(this.#view.record, this.identity, times) - this.#view.unchangedMs;
      freeSince = busyMs > 0 ? undefined : (freeSince ?? this.#clock.now());
      if (!known) await sleep(this.#clock, this.#jittered(retryPeriodMs), signal);
      else if (freeSince === undefined) await this.#view.pause(Math.min(busyMs, this.#jittered(retryPeriodMs)), signal);
      else if (this.#clock.now() - freeSince < standBackMs()) await this.#view.pause(STAND_BACK_LOOK_MS, signal);
      else {
        const taken = await this.#hold.write(signal);
        if (taken === "held") return true;
        await sleep(this.#clock, this.#jittered(taken === "conflict" ? Math.min(CONFLICT_MS, retryPeriodMs) : retryPeriodMs), signal);
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
    const givenUp = AbortSignal.any([lost.signal, left.signal]);
    const renewing = Promise.all([this.#renew(lose, stopped, lost.signal), this.#heed(lose, stopped)]);
    try {
      await Promise.race([this.#work(lead, term), this.#overtime(givenUp)]);
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
      this.#log.debug({ reason: messageOf(err) }, "the leader's work ended with an error while stopping");
    }
    if (!term.aborted) throw new Error("the leader's work ended by itself");
  }

  /** Never returns; throws some time after the term was given up. */
  async #overtime(givenUp: AbortSignal): Promise<never> {
    await new Promise((resolve) => givenUp.addEventListener("abort", resolve, { once: true }));
    await new Promise<void>((resolve) => void this.#clock.after(STOP_WORK_MS, resolve));
    throw new Error(`the leader's work still goes on ${STOP_WORK_MS / 1_000} s after its term`);
  }

  /** Renews until `stopped`; a write under way is waited for then, unless the term was lost, since the release builds on its outcome. */
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

  /** Loses the term as soon as the Lease is seen in other hands. */
  async #heed(lose: (why: string) => void, stopped: AbortSignal): Promise<void> {
    while (!stopped.aborted) {
      if (this.#hold.isTaken) lose(this.holder === "" ? "the lease was emptied" : "the lease has another holder");
      else await this.#view.pause(this.#init.times.retryPeriodMs, stopped);
    }
  }

  #jittered(ms: number): number {
    return ms * (1 + (this.#init.random ?? Math.random)() * (RETRY_JITTER - 1));
  }
}
