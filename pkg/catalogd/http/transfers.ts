import type { ServerLimits } from "./serverLimits.ts";

interface Waiting {
  readonly client: string;
  readonly start: (admitted: boolean) => void;
}

/**
 * Room for answers with large bodies: so many at once in all and to one client, the others wait in order. Answers without one, such as those to
 * conditional requests, need no room, so they are never held up by slow readers.
 */
export class Transfers {
  readonly #limits: Pick<ServerLimits, "transfers" | "transfersPerClient" | "transferWaitMs">;
  readonly #byClient = new Map<string, number>();
  readonly #waiting = new Set<Waiting>();
  #total = 0;

  constructor(limits: Pick<ServerLimits, "transfers" | "transfersPerClient" | "transferWaitMs">) {
    this.#limits = limits;
  }

  /** How many are being sent. */
  get underWay(): number {
    return this.#total;
  }

  /** Waits for room; `leave` has to follow when it resolves to true. False when there was none in time or the client has gone. */
  enter(client: string, gone: AbortSignal): Promise<boolean> {
    if (this.#hasRoom(client)) {
      this.#take(client);
      return Promise.resolve(true);
    }
    if (gone.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const end = (): void => waiting.start(false);
      const timer = setTimeout(end, this.#limits.transferWaitMs);
      const waiting: Waiting = {
        client,
        start: (admitted) => {
          clearTimeout(timer);
          gone.removeEventListener("abort", end);
          this.#waiting.delete(waiting);
          resolve(admitted);
        },
      };
      gone.addEventListener("abort", end, { once: true });
      this.#waiting.add(waiting);
    });
  }

  leave(client: string): void {
    this.#total--;
    const left = (this.#byClient.get(client) ?? 1) - 1;
    if (left > 0) this.#byClient.set(client, left);
    else this.#byClient.delete(client);
    for (const waiting of this.#waiting) {
      if (this.#total >= this.#limits.transfers) return;
      if (!this.#hasRoom(waiting.client)) continue;
      this.#take(waiting.client);
      waiting.start(true);
    }
  }

  #hasRoom(client: string): boolean {
    return this.#total < this.#limits.transfers && (this.#byClient.get(client) ?? 0) < this.#limits.transfersPerClient;
  }

  #take(client: string): void {
    this.#total++;
    this.#byClient.set(client, (this.#byClient.get(client) ?? 0) + 1);
  }
}
