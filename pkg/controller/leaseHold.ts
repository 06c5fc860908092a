import { type Clock, Deadline } from "../async/clock.ts";
import { messageOf } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../kube/errors.ts";
import type { Logger } from "../telemetry/log.ts";
import { type ElectionTimes, LEASE, type Lease, heldBy, released } from "./leaseRecord.ts";
import type { LeaseView } from "./leaseView.ts";

/** What reading and writing a Lease needs. */
export interface LeaseHoldInit {
  client: Pick<Client, "get" | "create" | "replace">;
  namespace: string;
  name: string;
  identity: string;
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
    const { client, namespace, name, identity, times, view, log, clock, now } = this.#init;
    const lease = view.lease;
    const spec = heldBy(identity, lease?.spec, times.leaseDurationMs, microTime(now()));
    const sentAt = clock.now();
    try {
      using deadline = this.#deadline(signal);
      const options = { signal: deadline.signal };
      const written: Lease = lease
        ? await client.replace<Lease>({ ...lease, ...LEASE, spec }, options)
        : await client.create<Lease>({ ...LEASE, metadata: { name, namespace }, spec }, options);
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
