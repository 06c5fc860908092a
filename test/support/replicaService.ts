import { setTimeout as sleep } from "node:timers/promises";
import { type Replica, readyz } from "./replicas.ts";

/** One request through the service. */
export interface ServedRequest {
  readonly replica: Replica;
  /** By `performance.now`. */
  readonly from: number;
  /** Why it failed; undefined for one that was answered with 200 and a whole body. */
  readonly failure: string | undefined;
  readonly text: string;
}

const PROBE_MS = 100;
const CLIENTS = 4;

/** What a Service does: it sends requests to the replicas whose readiness probe succeeds, in turn. Some clients send requests all the time. */
export class ReplicaService {
  readonly requests: ServedRequest[] = [];
  /** When each replica was withdrawn, by `performance.now`. */
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

  /** Those that requests are sent to. */
  get endpoints(): readonly Replica[] {
    return this.#endpoints;
  }

  /** Sends requests to one more, from now on. @param replica a ready one */
  add(replica: Replica): void {
    this.#endpoints = [...this.#endpoints, replica];
    this.#running.push(this.#probe(replica));
  }

  /** Ends the requests. @returns those that failed. */
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
