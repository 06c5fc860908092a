import { Repeats } from "../../async/backoff.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import type { Metrics } from "../../telemetry/metrics.ts";
import {
  getStreamKey,
  type MetadataClient,
  MetadataStream,
  type StreamListener,
  type StreamOptions,
  type StreamSpec,
  type StreamState,
} from "./metadataStream.ts";

/** The identity of a watch. */
export interface WatchIdentity {
  /** Unique key, such as "namespace/account". */
  readonly key: string;
  /** The controller's own identity. */
  readonly isController: boolean;
  readonly client: MetadataClient;
  /**
   * Reports whether the identity may open a stream by label. Absent if unknown: in this case, the stream is attempted.
   */
  readonly mayWatchAll?: (spec: StreamSpec) => boolean;
}

/** A stream, with the extensions that use it. */
export interface SharedStream {
  readonly key: string;
  readonly spec: StreamSpec;
  readonly identity: string;
  readonly users: Set<string>;
  readonly state: StreamState;
  refresh(): void;
}

type Opened = SharedStream & { readonly stream: MetadataStream };

/** Minimum time between two log lines about interruptions. */
const QUIET_MS = 60_000;

/** Streams by identity and watched objects. Each stream exists only once, and only while an extension uses it. */
export class StreamPool {
  readonly #options: StreamOptions;
  readonly #max: number;
  readonly #open = new Map<string, Opened>();

  /** @param max maximum number of streams. */
  constructor(options: Omit<StreamOptions, "interruptions">, max: number) {
    this.#options = { ...options, interruptions: new Repeats(options.clock, QUIET_MS) };
    this.#max = max;
  }

  /** Number of streams. */
  get size(): number {
    return this.#open.size;
  }

  /** Number of streams in each state. */
  get states(): Record<StreamState["kind"], number> {
    const states = { starting: 0, open: 0, broken: 0, refused: 0 };
    for (const { state } of this.#open.values()) states[state.kind]++;
    return states;
  }

  get(key: string): SharedStream | undefined {
    return this.#open.get(key);
  }

  /** Reports whether streams of this identity serve an extension other than `user`. */
  isShared(identity: string, user: string): boolean {
    for (const stream of this.#open.values()) {
      if (stream.identity === identity && [...stream.users].some((other) => other !== user)) return true;
    }
    return false;
  }

  /**
   * Returns the stream of an identity for `spec`, and starts it if it does not exist. Undefined if the limit is
   * reached.
   * @param createListener called for a new stream.
   */
  acquire(
    identity: WatchIdentity,
    spec: StreamSpec,
    user: string,
    createListener: (key: string) => StreamListener,
  ): SharedStream | undefined {
    const key = `${identity.key} ${getStreamKey(spec)}`;
    const known = this.#open.get(key);
    if (known) {
      known.users.add(user);
      return known;
    }
    if (this.#open.size >= this.#max) return undefined;
    const stream = new MetadataStream(identity.client, spec, createListener(key), this.#options);
    const opened: Opened = {
      key,
      spec,
      identity: identity.key,
      users: new Set([user]),
      stream,
      get state() {
        return stream.state;
      },
      refresh: () => stream.refresh(),
    };
    this.#open.set(key, opened);
    stream.run().catch((err: unknown) => this.#options.log.error({ reason: getErrorMessage(err) }, "object watch ended unexpectedly"));
    return opened;
  }

  /** Closes the stream if no other extension uses it. */
  release(key: string, user: string): void {
    const opened = this.#open.get(key);
    opened?.users.delete(user);
    if (!opened || opened.users.size > 0) return;
    this.#open.delete(key);
    opened.stream.close();
  }

  close(): void {
    for (const { stream } of this.#open.values()) stream.close();
    this.#open.clear();
  }
}

/** Registers a gauge with the number of streams by state. `states` is called at each scrape. */
export function registerWatchMetrics(metrics: Metrics, states: () => readonly Record<StreamState["kind"], number>[]): void {
  metrics.gauge({
    name: "object_watches",
    help: "Number of watches of installed objects and configuration sources, by state; a denied watch is replaced by watches by name or by periodic comparisons",
    labels: ["state"],
    collect: (gauge) => {
      const counts = new Map<string, number>();
      for (const [state, count] of states().flatMap(Object.entries<number>)) counts.set(state, (counts.get(state) ?? 0) + count);
      for (const [state, count] of counts) gauge.set(count, { state });
    },
  });
}
