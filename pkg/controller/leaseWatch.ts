import { messageOf } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import type { Logger } from "../telemetry/log.ts";
import { Backoff } from "./backoff.ts";
import { type Clock, sleep } from "../async/clock.ts";
import { LEASE, type Lease } from "./leaseRecord.ts";
import type { LeaseView } from "./leaseView.ts";

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
