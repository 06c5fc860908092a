import type { ServerLimits } from "./serverLimits.ts";

/** A response with a large body that is being sent. */
export interface Transfer {
  /** Client address of the connection, never from a header. */
  readonly client: string;
  /** Size of the body in bytes if it is in memory; 0 if it is read from a file. */
  readonly memory: number;
  /** Returns the number of bytes that the operating system has accepted for the connection so far. */
  progress(): number;
  /** Returns the number of bytes that were written but not yet accepted. */
  pending(): number;
  /** Ends the transfer; the caller then calls `leave`. */
  cut(): void;
}

type TransferLimits = Pick<
  ServerLimits,
  | "transfers"
  | "transfersPerClient"
  | "transferMemory"
  | "transferMemoryPerClient"
  | "transferWaitMs"
  | "transferQueue"
  | "transferFloor"
  | "transferCheckMs"
>;

interface QueuedTransfer extends Pick<Transfer, "client" | "memory"> {
  /** Time of the first check that saw the transfer. */
  since?: number;
  readonly start: (admitted: boolean) => void;
}

/**
 * After this fraction of its queue time, a client gets a slot from a client that uses more than its
 * share.
 */
const PATIENCE = 0.25;

/** Progress of a transfer since other clients started to wait. */
interface Sample {
  readonly at: number;
  readonly bytes: number;
}

/**
 * Slots for responses with large bodies, limited in total and per client, by number and by the
 * memory of their bodies. Further responses wait in a bounded queue. A free slot goes to the waiting client that uses the fewest slots; among equals,
 * to the first one in the queue.
 *
 * While a client waits, transfers below the minimum rate lose their slots. After a longer wait, the
 * slowest transfer of a client that uses more than its share also loses its slot. Responses without
 * a large body, for example to conditional requests, need no slot.
 */
export class Transfers {
  readonly #limits: TransferLimits;
  readonly #active = new Map<Transfer, Sample | undefined>();
  readonly #byClient = new Map<string, number>();
  readonly #waiting = new Set<QueuedTransfer>();
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: TransferLimits) {
    this.#limits = limits;
  }

  /** The number of transfers in progress. */
  get underWay(): number {
    return this.#active.size;
  }

  /**
   * Waits for a slot. Resolves to true if the transfer has a slot; the caller must then call
   * `leave`. Resolves to false if the queue is full, no slot became free in time, or the client has
   * disconnected.
   */
  enter(transfer: Transfer, gone: AbortSignal): Promise<boolean> {
    if (this.#hasRoom(transfer)) {
      this.#take(transfer);
      return Promise.resolve(true);
    }
    if (gone.aborted || !this.#mayWait(transfer)) return Promise.resolve(false);
    return new Promise((resolve) => {
      const end = (): void => waiting.start(false);
      const timer = setTimeout(end, this.#limits.transferWaitMs);
      const waiting: QueuedTransfer = {
        client: transfer.client,
        memory: transfer.memory,
        start: (admitted) => {
          clearTimeout(timer);
          gone.removeEventListener("abort", end);
          this.#waiting.delete(waiting);
          if (admitted) this.#take(transfer);
          if (this.#waiting.size === 0) this.#stopChecks();
          resolve(admitted);
        },
      };
      gone.addEventListener("abort", end, { once: true });
      this.#waiting.add(waiting);
      this.#timer ??= setInterval(() => this.check(performance.now()), this.#limits.transferCheckMs).unref();
    });
  }

  leave(transfer: Transfer): void {
    if (!this.#active.delete(transfer)) return;
    const left = this.#count(transfer.client) - 1;
    if (left > 0) this.#byClient.set(transfer.client, left);
    else this.#byClient.delete(transfer.client);
    for (let next = this.#next(); next; next = this.#next()) next.start(true);
  }

  /**
   * Ends transfers that lose their slot to waiting clients. @param now milliseconds of a monotonic
   * clock.
   */
  check(now: number): void {
    const cut = [...this.#active.keys()].filter((transfer) => this.#isTooSlow(transfer, now));
    const greedy = cut.length === 0 ? this.#slowestOfGreedy(now) : undefined;
    for (const transfer of greedy ? [greedy] : cut) transfer.cut();
  }

  /** Bytes that were written but not yet accepted are in transit. */
  #isTooSlow(transfer: Transfer, now: number): boolean {
    const before = this.#active.get(transfer);
    const bytes = transfer.progress();
    const expected = before ? ((now - before.at) / 1_000) * this.#limits.transferFloor : 0;
    const moved = before ? bytes - before.bytes : 0;
    if (!before || moved >= expected) this.#active.set(transfer, { at: now, bytes });
    return before !== undefined && moved + transfer.pending() < expected;
  }

  /**
   * Returns the slowest transfer of a client that uses more than its share, if a waiting client
   * uses less than its share.
   */
  #slowestOfGreedy(now: number): Transfer | undefined {
    const waiting = new Set<string>();
    for (const one of this.#waiting) {
      one.since ??= now;
      if (now - one.since >= this.#limits.transferWaitMs * PATIENCE) waiting.add(one.client);
    }
    const clients = new Set([...this.#byClient.keys(), ...waiting]);
    const share = Math.max(1, Math.floor(this.#limits.transfers / clients.size));
    if (![...waiting].some((client) => this.#count(client) < share)) return undefined;
    const [greediest = "", most = 0] = [...this.#byClient].sort(([, a], [, b]) => b - a)[0] ?? [];
    if (most <= share) return undefined;
    const rate = (transfer: Transfer): number => {
      const sample = this.#active.get(transfer);
      return sample ? (transfer.progress() - sample.bytes) / (now - sample.at + 1) : 0;
    };
    return [...this.#active.keys()].filter(({ client }) => client === greediest).sort((a, b) => rate(a) - rate(b))[0];
  }

  #next(): QueuedTransfer | undefined {
    let best: QueuedTransfer | undefined;
    for (const waiting of this.#waiting) {
      if (!this.#hasRoom(waiting)) continue;
      if (!best || this.#count(waiting.client) < this.#count(best.client)) best = waiting;
    }
    return best;
  }

  #hasRoom(transfer: Pick<Transfer, "client" | "memory">): boolean {
    if (this.#active.size >= this.#limits.transfers || this.#count(transfer.client) >= this.#limits.transfersPerClient) return false;
    return this.#fitsMemory(transfer, this.#active.keys());
  }

  /** Returns whether the memory limits allow another transfer. Always allows the only transfer of a client within the limit for all. */
  #fitsMemory({ client, memory }: Pick<Transfer, "client" | "memory">, others: Iterable<Pick<Transfer, "client" | "memory">>): boolean {
    if (memory === 0) return true;
    let [total, own] = [0, 0];
    for (const other of others) {
      total += other.memory;
      if (other.client === client) own += other.memory;
    }
    const { transferMemory, transferMemoryPerClient } = this.#limits;
    return (total === 0 || total + memory <= transferMemory) && (own === 0 || own + memory <= transferMemoryPerClient);
  }

  /** Returns whether the queue has room for this transfer. One client may use half of the queue. */
  #mayWait(transfer: Pick<Transfer, "client" | "memory">): boolean {
    if (this.#waiting.size >= this.#limits.transferQueue || !this.#fitsMemory(transfer, this.#waiting)) return false;
    const { client } = transfer;
    const own = [...this.#waiting].filter((waiting) => waiting.client === client).length;
    return own < Math.ceil(this.#limits.transferQueue / 2);
  }

  #count(client: string): number {
    return this.#byClient.get(client) ?? 0;
  }

  #take(transfer: Transfer): void {
    this.#active.set(transfer, undefined);
    this.#byClient.set(transfer.client, this.#count(transfer.client) + 1);
  }

  /** Discards the samples, because transfers may be slow while no client waits. */
  #stopChecks(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    for (const transfer of this.#active.keys()) this.#active.set(transfer, undefined);
  }
}
