import type { ServerLimits } from "./serverLimits.ts";

/** An answer with a large body that is being sent. */
export interface Transfer {
  /** Address of the client: that of the connection, never of a header. */
  readonly client: string;
  /** How many bytes the client's connection has taken so far. */
  progress(): number;
  /** How many bytes were written and not taken yet. */
  pending(): number;
  /** Ends the transfer; `leave` follows. */
  cut(): void;
}

type TransferLimits = Pick<
  ServerLimits,
  "transfers" | "transfersPerClient" | "transferWaitMs" | "transferQueue" | "transferFloor" | "transferCheckMs"
>;

interface Waiting {
  readonly client: string;
  /** When the first check saw it. */
  since?: number;
  readonly start: (admitted: boolean) => void;
}

/** After this part of its time in the queue a client is given a place of one that has more than its share. */
const PATIENCE = 0.25;

/** What is known of a transfer since others wait. */
interface Sample {
  readonly at: number;
  readonly bytes: number;
}

/**
 * Room for answers with large bodies: so many at once in all and to one client. Others wait in a bounded queue; a free place goes to the client that
 * has the fewest, and among those to the first one. While a client waits, a transfer that is slower than the floor loses its place; later on, so does
 * the slowest one of a client that has more than its share. Answers without a large body, such as those to conditional requests, need no room.
 */
export class Transfers {
  readonly #limits: TransferLimits;
  readonly #active = new Map<Transfer, Sample | undefined>();
  readonly #byClient = new Map<string, number>();
  readonly #waiting = new Set<Waiting>();
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: TransferLimits) {
    this.#limits = limits;
  }

  /** How many are being sent. */
  get underWay(): number {
    return this.#active.size;
  }

  /**
   * Waits for room; `leave` has to follow when it resolves to true. False when the queue is full, when there was no room in time, and when the client
   * has gone.
   */
  enter(transfer: Transfer, gone: AbortSignal): Promise<boolean> {
    if (this.#hasRoom(transfer.client)) {
      this.#take(transfer);
      return Promise.resolve(true);
    }
    if (gone.aborted || !this.#mayWait(transfer.client)) return Promise.resolve(false);
    return new Promise((resolve) => {
      const end = (): void => waiting.start(false);
      const timer = setTimeout(end, this.#limits.transferWaitMs);
      const waiting: Waiting = {
        client: transfer.client,
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

  /** Cuts transfers that lose their place to those who wait. @param now milliseconds of a clock that only goes forward. */
  check(now: number): void {
    const cut = [...this.#active.keys()].filter((transfer) => this.#isTooSlow(transfer, now));
    const greedy = cut.length === 0 ? this.#slowestOfGreedy(now) : undefined;
    for (const transfer of greedy ? [greedy] : cut) transfer.cut();
  }

  /** What is written and not taken counts as on its way: it is taken as one. */
  #isTooSlow(transfer: Transfer, now: number): boolean {
    const before = this.#active.get(transfer);
    const bytes = transfer.progress();
    const expected = before ? ((now - before.at) / 1_000) * this.#limits.transferFloor : 0;
    const moved = before ? bytes - before.bytes : 0;
    if (!before || moved >= expected) this.#active.set(transfer, { at: now, bytes });
    return before !== undefined && moved + transfer.pending() < expected;
  }

  /** Of a client with more than its share, when one that waits has less than that. */
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

  #next(): Waiting | undefined {
    let best: Waiting | undefined;
    for (const waiting of this.#waiting) {
      if (!this.#hasRoom(waiting.client)) continue;
      if (!best || this.#count(waiting.client) < this.#count(best.client)) best = waiting;
    }
    return best;
  }

  #hasRoom(client: string): boolean {
    return this.#active.size < this.#limits.transfers && this.#count(client) < this.#limits.transfersPerClient;
  }

  /** Whether the queue has room; one client may have half of it. */
  #mayWait(client: string): boolean {
    if (this.#waiting.size >= this.#limits.transferQueue) return false;
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

  /** What was found out is forgotten: transfers may be slow while nobody waits. */
  #stopChecks(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    for (const transfer of this.#active.keys()) this.#active.set(transfer, undefined);
  }
}
