import type { Socket } from "node:net";

/** Counts the open connections of each client, by address. */
export class ConnectionCount {
  readonly #most: number;
  readonly #open = new Map<string, number>();

  /** @param most of one client. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Counts a connection until it closes; false when its client has too many already. */
  add(socket: Socket): boolean {
    const client = socket.remoteAddress;
    if (client === undefined) return false;
    const open = this.#open.get(client) ?? 0;
    if (open >= this.#most) return false;
    this.#open.set(client, open + 1);
    socket.once("close", () => {
      const left = (this.#open.get(client) ?? 1) - 1;
      if (left > 0) this.#open.set(client, left);
      else this.#open.delete(client);
    });
    return true;
  }
}
