import { createHmac, randomBytes } from "node:crypto";
import type { Client } from "../../kube/client.ts";
import type { Logger } from "../../telemetry/log.ts";
import { ConsoleError } from "../http/consoleError.ts";
import { ClusterIdentity } from "./clusterIdentity.ts";

/** Time after which the watches of an identity without requests and streams stop, in milliseconds. */
const IDLE_MS = 60_000;
const MAX_IDENTITIES = 200;

interface Held {
  readonly identity: ClusterIdentity;
  /** Number of open event streams. */
  uses: number;
  lastUsed: number;
}

/**
 * The identities of callers that send bearer tokens. Callers with the same token share one identity, and so its watches. Stores tokens only in the
 * client of the identity, and finds it by a keyed hash.
 */
export class TokenIdentities implements Disposable {
  readonly #client: Client;
  readonly #log: Logger;
  readonly #hashKey = randomBytes(32);
  readonly #held = new Map<string, Held>();
  readonly #sweep = setInterval(() => this.#dropIdle(), IDLE_MS / 4).unref();

  /** @param client for the server; its own credentials are never used */
  constructor(client: Client, log: Logger) {
    this.#client = client;
    this.#log = log;
  }

  /** Returns the identity of a token. */
  find(token: string): ClusterIdentity {
    return this.#hold(token).identity;
  }

  /** Keeps the watches of a token's identity running until the returned function is called. */
  use(token: string): () => void {
    const held = this.#hold(token);
    held.uses++;
    return () => {
      held.uses--;
      held.lastUsed = Date.now();
    };
  }

  #hold(token: string): Held {
    if (token === "") throw new ConsoleError("signedOut", "the request has no bearer token");
    const key = createHmac("sha256", this.#hashKey).update(token).digest("base64");
    let held = this.#held.get(key);
    if (!held) {
      if (this.#held.size >= MAX_IDENTITIES) this.#dropIdle();
      if (this.#held.size >= MAX_IDENTITIES) throw new ConsoleError("limited", "too many users use the console; try again in a minute");
      held = {
        identity: new ClusterIdentity(
          this.#client.withToken(async () => token),
          this.#log,
        ),
        uses: 0,
        lastUsed: 0,
      };
      this.#held.set(key, held);
    }
    held.lastUsed = Date.now();
    return held;
  }

  #dropIdle(): void {
    const now = Date.now();
    for (const [key, { identity, uses, lastUsed }] of this.#held) {
      if (uses > 0 || now - lastUsed <= IDLE_MS) continue;
      this.#held.delete(key);
      identity[Symbol.dispose]();
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#sweep);
    for (const { identity } of this.#held.values()) identity[Symbol.dispose]();
    this.#held.clear();
  }
}
