import type { ObjectRef } from "../../api/k8s.ts";
import { systemClock } from "../../async/clock.ts";
import type { Logger } from "../../telemetry/log.ts";
import { Semaphore, type StreamListener, type StreamState } from "./metadataStream.ts";
import type { Unwatched } from "./objectWatches.ts";
import { StreamPool, type WatchIdentity } from "./streamPool.ts";

/** An object that configuration is read from, as it was read; without resourceVersion where it did not exist. */
export interface ReadObject {
  readonly ref: ObjectRef;
  readonly resourceVersion: string | undefined;
}

/** What the watches need from the outside. */
export interface SourceWatchesOptions {
  readonly log: Logger;
  /** Asks for a pass over an extension, in so many milliseconds: a source is not as it was read, or whether it is watched has changed. */
  readonly wake: (extension: string, inMs: number) => void;
  /** How often at least a stream that was refused is tried again. */
  readonly retryRefusedMs: number;
}

interface Watched extends ReadObject {
  /** Key of its stream; undefined where there are as many as may be. */
  readonly stream: string | undefined;
}

const MAX_STREAMS = 4_000;
/** Streams that may be connecting at once. */
const CONNECTING = 16;
/** Changes in a row make one pass. */
const SETTLE_MS = 100;

/**
 * Watches the metadata of what `spec.config.valuesFrom` names, each object by its name and as the extension's own identity, and asks for a
 * pass when one is not as it was read.
 */
export class SourceWatches {
  readonly #wake: SourceWatchesOptions["wake"];
  readonly #pool: StreamPool;
  readonly #watched = new Map<string, readonly Watched[]>();

  constructor({ log, wake, retryRefusedMs }: SourceWatchesOptions) {
    this.#wake = wake;
    this.#pool = new StreamPool({ clock: systemClock, log, retryRefusedMs, gate: new Semaphore(CONNECTING) }, MAX_STREAMS);
  }

  /** How many streams are in each state; for metrics. */
  get states(): Record<StreamState["kind"], number> {
    return this.#pool.states;
  }

  /** Watches exactly these objects of an extension from now on. */
  follow(extension: string, identity: WatchIdentity, read: readonly ReadObject[]): void {
    const before = this.#watched.get(extension) ?? [];
    const started = new Set<string>();
    const listen = (key: string): StreamListener => {
      started.add(key);
      return this.#listenerOf(key);
    };
    const watched = read.map(({ ref, resourceVersion }): Watched => {
      const { apiVersion, kind, namespace, name } = ref;
      return { ref, resourceVersion, stream: this.#pool.acquire(identity, { apiVersion, kind, namespace, name }, extension, listen)?.key };
    });
    this.#watched.set(extension, watched);
    for (const { stream } of watched) {
      const isNew = stream !== undefined && !started.has(stream) && !before.some((one) => one.stream === stream);
      if (isNew) this.#pool.get(stream)?.refresh(); // what it told before is not known here
    }
    for (const { stream } of before)
      if (stream !== undefined && !watched.some((one) => one.stream === stream)) this.#pool.release(stream, extension);
  }

  /** Sources of an extension of which a change would not be seen, and why. */
  unwatched(extension: string): Unwatched[] {
    return (this.#watched.get(extension) ?? []).flatMap(({ ref, stream }): Unwatched[] => {
      const state = stream === undefined ? undefined : this.#pool.get(stream)?.state;
      if (!state) return [{ ref, because: "as many objects are watched as may be" }];
      return state.kind === "refused" ? [{ ref, because: state.message }] : [];
    });
  }

  /** Ends everything about an extension. */
  forget(extension: string): void {
    for (const { stream } of this.#watched.get(extension) ?? []) if (stream !== undefined) this.#pool.release(stream, extension);
    this.#watched.delete(extension);
  }

  /** Closes all streams. */
  close(): void {
    this.#watched.clear();
    this.#pool.close();
  }

  #listenerOf(key: string): StreamListener {
    const turned = (state: StreamState, before: StreamState): void => {
      if (state.kind !== "refused" && before.kind !== "refused") return;
      for (const extension of this.#pool.get(key)?.users ?? []) this.#wake(extension, SETTLE_MS);
    };
    return {
      listed: ([item]) => this.#see(key, item?.metadata.resourceVersion),
      changed: ({ metadata }) => this.#see(key, metadata.resourceVersion),
      deleted: () => this.#see(key, undefined),
      turned,
    };
  }

  #see(key: string, resourceVersion: string | undefined): void {
    for (const extension of this.#pool.get(key)?.users ?? []) {
      const watched = this.#watched.get(extension)?.find(({ stream }) => stream === key);
      if (watched && watched.resourceVersion !== resourceVersion) this.#wake(extension, SETTLE_MS);
    }
  }
}
