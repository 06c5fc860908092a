import { setTimeout as sleep } from "node:timers/promises";
import { type Replica, readyz } from "./replicas.ts";

/** One request through the Service. */
export interface ServedRequest {
  readonly replica: Replica;
  /** By `performance.now`. */
  readonly from: number;
  /** Why it failed; undefined if it got 200 and a complete body. */
  readonly failure: string | undefined;
  readonly text: string;
}

const PROBE_MS = 100;
const CLIENTS = 4;

/** Simulates a Service: sends requests in turn to the replicas whose readiness probe succeeds. A number of clients send requests continuously. */
export class ReplicaService {
  readonly requests: ServedRequest[] = [];
  /** When each replica became unready, by `performance.now`. */
  readonly withdrawn = new Map<Replica, number>();
  readonly #path: string;
  #endpoints: Replica[];
  #turn = 0;
  #stopped = false;
  readonly #running: Promise<unknown>[];

  /** @param replicas ready ones @param path of the requests */
  constructor(replicas: readonly Replica[], path: string) {
    this.#path = path;
    this.#endpoints = [...replicas];
    this.#running = [...replicas.map((replica) => this.#probe(replica)), ...Array.from({ length: CLIENTS }, () => this.#request())];
  }

  /** The replicas that get requests. */
  get endpoints(): readonly Replica[] {
    return this.#endpoints;
  }

  /** Adds a replica that gets requests. @param replica a ready one */
  add(replica: Replica): void {
    this.#endpoints = [...this.#endpoints, replica];
    this.#running.push(this.#probe(replica));
  }

  /** Stops the requests. @returns those that failed. */
  async stop(): Promise<ServedRequest[]> {
    this.#stopped = true;
    await Promise.all(this.#running);
    return this.requests.filter(({ failure }) => failure !== undefined);
  }

  async #probe(replica: Replica): Promise<void> {
    while (!this.#stopped && !this.withdrawn.has(replica)) {
      if ((await readyz(replica)).status !== 200) {
        this.#endpoints = this.#endpoints.filter((other) => other !== replica);
        this.withdrawn.set(replica, performance.now());
      }
      await sleep(PROBE_MS);
    }
  }

  async #request(): Promise<void> {
    while (!this.#stopped) {
      const replica = this.#endpoints[this.#turn++ % this.#endpoints.length];
      if (!replica) throw new Error("no replica is ready");
      const from = performance.now();
      try {
        const answer = await fetch(replica.content + this.#path);
        const text = await answer.text();
        this.requests.push({ replica, from, text, failure: answer.status === 200 ? undefined : `${answer.status} ${text}` });
      } catch (err) {
        this.requests.push({ replica, from, text: "", failure: `${String(err)} ${String((err as Error).cause)}` });
      }
      await sleep(5);
    }
  }
}
