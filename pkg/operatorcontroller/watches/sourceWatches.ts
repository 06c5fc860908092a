import type { ObjectRef } from "../../api/k8s.ts";
import { systemClock } from "../../async/clock.ts";
import type { Logger } from "../../telemetry/log.ts";
import { Semaphore, type StreamListener, type StreamState } from "./metadataStream.ts";
import type { Unwatched } from "./objectWatches.ts";
import { StreamPool, type WatchIdentity } from "./streamPool.ts";

/** A configuration source as it was read; without resourceVersion if it did not exist. */
export interface ReadObject {
  readonly ref: ObjectRef;
  readonly resourceVersion: string | undefined;
}

/** Dependencies of the watches. */
export interface SourceWatchesOptions {
  readonly log: Logger;
  /** Queues an extension after a delay in milliseconds, because a source has changed or can no longer be watched. */
  readonly requeueAfter: (extension: string, inMs: number) => void;
  /** Maximum delay in milliseconds between retries of a denied stream. */
  readonly retryRefusedMs: number;
}

interface Watched extends ReadObject {
  /** Key of its stream; undefined if the limit of streams is reached. */
  readonly stream: string | undefined;
}

const MAX_STREAMS = 4_000;
/** Maximum number of streams that connect at once. */
const CONNECTING = 16;
/** Delay that combines consecutive changes into one reconcile. */
const SETTLE_MS = 100;

/**
 * Watches the metadata of objects in `spec.config.valuesFrom`, each by name and with the extension's own identity.
 * Triggers a reconcile when an object differs from the version that was read.
 */
export class SourceWatches {
  readonly #requeueAfter: SourceWatchesOptions["requeueAfter"];
  readonly #pool: StreamPool;
  readonly #watched = new Map<string, readonly Watched[]>();

  constructor({ log, requeueAfter, retryRefusedMs }: SourceWatchesOptions) {
    this.#requeueAfter = requeueAfter;
    this.#pool = new StreamPool({ clock: systemClock, log, retryRefusedMs, gate: new Semaphore(CONNECTING) }, MAX_STREAMS);
  }

  /** Number of streams in each state, for metrics. */
  get states(): Record<StreamState["kind"], number> {
    return this.#pool.states;
  }

  /** Watches exactly these objects of an extension from now on. */
  follow(extension: string, identity: WatchIdentity, read: readonly ReadObject[]): void {
    const before = this.#watched.get(extension) ?? [];
    const started = new Set<string>();
    const createListener = (key: string): StreamListener => {
      started.add(key);
      return this.#createListener(key);
    };
    const watched = read.map(({ ref, resourceVersion }): Watched => {
      const { apiVersion, kind, namespace, name } = ref;
      return {
        ref,
        resourceVersion,
        stream: this.#pool.acquire(identity, { apiVersion, kind, namespace, name }, extension, createListener)?.key,
      };
    });
    this.#watched.set(extension, watched);
    for (const { stream } of watched) {
      const isNew = stream !== undefined && !started.has(stream) && !before.some((one) => one.stream === stream);
      if (isNew) this.#pool.get(stream)?.refresh(); // its earlier events were not recorded here
    }
    for (const { stream } of before)
      if (stream !== undefined && !watched.some((one) => one.stream === stream)) this.#pool.release(stream, extension);
  }

  /** Returns the sources of an extension whose changes are not noticed, with the reasons. */
  unwatched(extension: string): Unwatched[] {
    return (this.#watched.get(extension) ?? []).flatMap(({ ref, stream }): Unwatched[] => {
      const state = stream === undefined ? undefined : this.#pool.get(stream)?.state;
      if (!state) return [{ ref, reason: "the limit of object watches is reached" }];
      return state.kind === "refused" ? [{ ref, reason: state.message }] : [];
    });
  }

  /** Ends all watches of an extension. */
  forget(extension: string): void {
    for (const { stream } of this.#watched.get(extension) ?? []) if (stream !== undefined) this.#pool.release(stream, extension);
    this.#watched.delete(extension);
  }

  /** Closes all streams. */
  close(): void {
    this.#watched.clear();
    this.#pool.close();
  }

  #createListener(key: string): StreamListener {
    const onStateChange = (state: StreamState, before: StreamState): void => {
      if (state.kind !== "refused" && before.kind !== "refused") return;
      for (const extension of this.#pool.get(key)?.users ?? []) this.#requeueAfter(extension, SETTLE_MS);
    };
    return {
      onList: ([item]) => this.#compare(key, item?.metadata.resourceVersion),
      onChange: ({ metadata }) => this.#compare(key, metadata.resourceVersion),
      onDelete: () => this.#compare(key, undefined),
      onStateChange,
    };
  }

  #compare(key: string, resourceVersion: string | undefined): void {
    for (const extension of this.#pool.get(key)?.users ?? []) {
      const watched = this.#watched.get(extension)?.find(({ stream }) => stream === key);
      if (watched && watched.resourceVersion !== resourceVersion) this.#requeueAfter(extension, SETTLE_MS);
    }
  }
}
