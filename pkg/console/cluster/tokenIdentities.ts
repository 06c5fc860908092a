import { createHmac, randomBytes } from "node:crypto";
import type { Client } from "../../kube/client.ts";
import type { Logger } from "../../telemetry/log.ts";
import { ConsoleError } from "../http/consoleError.ts";
import { ClusterIdentity, type HeldIdentity } from "./clusterIdentity.ts";

/** Time after which the watches of an identity without requests and streams stop, in milliseconds. */
const IDLE_MS = 60_000;
/** Time after which the API server must accept a token again, in milliseconds. */
const CHECK_MS = 60_000;
const SWEEP_MS = 15_000;
/** Maximum number of identities. Above it, the least recently used one without streams is dropped. */
const MAX_IDENTITIES = 200;
/** Maximum number of event streams and logs of one identity, so that one user cannot take all. */
const MAX_STREAMS_OF_ONE = 500;

interface Entry {
  readonly identity: ClusterIdentity;
  /** Number of open event streams and logs. */
  streams: number;
  lastUsed: number;
  /** When the API server last accepted the token; 0 if it was not asked yet. */
  lastAccepted: number;
}

/** Limits that tests override. */
export interface TokenIdentityLimits {
  readonly identities: number;
  readonly streamsOfOne: number;
  readonly sweepMs: number;
  readonly checkMs: number;
}

/**
 * The identities of callers that send bearer tokens. Callers with the same token share one identity, and so its watches. Stores tokens only in the
 * client of the identity, and finds it by a keyed hash.
 */
export class TokenIdentities implements Disposable {
  readonly #client: Client;
  readonly #log: Logger;
  readonly #limits: TokenIdentityLimits;
  readonly #hashKey = randomBytes(32);
  /** By hash of the token, least recently used first. */
  readonly #entries = new Map<string, Entry>();
  readonly #sweep: NodeJS.Timeout;

  /** @param client for the server; its own credentials are never used */
  constructor(client: Client, log: Logger, limits: Partial<TokenIdentityLimits> = {}) {
    this.#client = client;
    this.#log = log;
    this.#limits = { identities: MAX_IDENTITIES, streamsOfOne: MAX_STREAMS_OF_ONE, sweepMs: SWEEP_MS, checkMs: CHECK_MS, ...limits };
    this.#sweep = setInterval(() => this.#tidy(), this.#limits.sweepMs).unref();
  }

  /** Number of identities. */
  get size(): number {
    return this.#entries.size;
  }

  /** Returns the identity of a token, without asking the API server whether the token is valid. @throws ConsoleError limited */
  find(token: string): ClusterIdentity {
    return this.#take(this.#hash(token), token).identity;
  }

  /**
   * Returns the identity of a token that the API server accepts, and keeps its watches running until it is released.
   * @throws ConsoleError signedOut, limited
   */
  async hold(token: string): Promise<HeldIdentity> {
    const key = this.#hash(token);
    await this.#check(key, this.#take(key, token));
    const entry = this.#take(key, token);
    if (entry.streams >= this.#limits.streamsOfOne) throw new ConsoleError("limited", "too many open pages; close some and try again");
    entry.streams++;
    const release = (): void => {
      entry.streams--;
      entry.lastUsed = Date.now();
    };
    return { identity: entry.identity, release };
  }

  #hash(token: string): string {
    return createHmac("sha256", this.#hashKey).update(token).digest("base64");
  }

  #take(key: string, token: string): Entry {
    const known = this.#entries.get(key);
    const entry = known ?? this.#create(token);
    entry.lastUsed = Date.now();
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry;
  }

  #create(token: string): Entry {
    if (this.#entries.size >= this.#limits.identities) this.#evict();
    const client = this.#client.withToken(async () => token, { ownDiscovery: true });
    return { identity: new ClusterIdentity(client, this.#log), streams: 0, lastUsed: 0, lastAccepted: 0 };
  }

  /** Drops the least recently used identity without streams. @throws ConsoleError limited */
  #evict(): void {
    for (const [key, { streams }] of this.#entries) if (streams === 0) return this.#drop(key);
    throw new ConsoleError("limited", "too many users use the console; try again in a minute");
  }

  /** Asks the API server whether it accepts the token, unless it did recently. Drops the identity if not, which ends its streams. */
  async #check(key: string, entry: Entry): Promise<void> {
    const now = Date.now();
    if (now - entry.lastAccepted < this.#limits.checkMs) return;
    if (await entry.identity.isCurrent()) {
      entry.lastAccepted = now;
      return;
    }
    if (this.#entries.get(key) === entry) this.#drop(key);
    throw new ConsoleError("signedOut", "the API server does not accept the token of the request, or the permissions of the user changed");
  }

  /** Drops idle identities, and those whose token the API server does not accept any more. */
  #tidy(): void {
    const now = Date.now();
    for (const [key, entry] of this.#entries) {
      if (entry.streams === 0 && now - entry.lastUsed > IDLE_MS) this.#drop(key);
      else this.#check(key, entry).catch(() => undefined); // dropped, or the API server does not respond
    }
  }

  #drop(key: string): void {
    const entry = this.#entries.get(key);
    this.#entries.delete(key);
    entry?.identity[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#sweep);
    for (const key of this.#entries.keys()) this.#drop(key);
  }
}
