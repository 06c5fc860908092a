import type { ObjectRef } from "../../api/k8s.ts";
import { objectKey } from "../../release/identity.ts";
import type { Following } from "./following.ts";
import type { StreamListener } from "./metadataStream.ts";
import { type PlanContext, planStreams, type StreamSpec, streamKey } from "./plan.ts";
import type { StreamPool, WatchIdentity } from "./streamPool.ts";

/** A stream to be and who opens it. */
interface PlannedStream {
  readonly identity: WatchIdentity;
  readonly spec: StreamSpec;
}

/** Connects objects with the streams that tell of them, and remembers which streams by label an identity may not have. */
export class Connector {
  readonly #pool: StreamPool;
  readonly #listenerOf: (key: string) => StreamListener;
  /** Keys of streams by label that were refused, by identity: their objects are followed by name. */
  readonly #refused = new Map<string, Set<string>>();

  /** Serves all extensions where it may, by label; undefined where each is served by its own identity alone. */
  readonly #shared: WatchIdentity | undefined;

  /** @param listenerOf gives the listener of a stream that is started, by its key. @param shared an identity that may look at kinds everywhere. */
  constructor(pool: StreamPool, listenerOf: (key: string) => StreamListener, shared?: WatchIdentity) {
    this.#pool = pool;
    this.#listenerOf = listenerOf;
    this.#shared = shared;
  }

  /**
   * Gives every object its stream and lets go of those that are not needed any more.
   * @param fresh keys of objects of which a stream that is open already may have told something before: it is listed anew.
   * @param left keys of the extension's streams until now.
   */
  connect(extension: string, { identity, objects }: Following, fresh: ReadonlySet<string>, left: ReadonlySet<string>): void {
    const planned = this.#plan(
      extension,
      identity,
      [...objects.values()].map(({ ref }) => ref),
    );
    const stale = new Set<string>();
    const used = new Set<string>();
    const started = new Set<string>();
    const listenerOf = (key: string): StreamListener => {
      started.add(key);
      return this.#listenerOf(key);
    };
    for (const [key, object] of objects) {
      const plan = planned.get(key);
      const stream = plan && this.#pool.acquire(plan.identity, plan.spec, extension, listenerOf);
      if (stream) used.add(stream.key);
      if (stream && !started.has(stream.key) && (fresh.has(key) || object.stream !== stream.key)) stale.add(stream.key);
      object.stream = stream?.key;
    }
    for (const key of left) if (!used.has(key)) this.#pool.release(key, extension);
    for (const key of stale) this.#pool.get(key)?.refresh();
  }

  /** The stream of each object and who opens it: the shared identity by label wherever it has not been refused, else the extension's own. */
  #plan(extension: string, own: WatchIdentity, refs: readonly ObjectRef[]): Map<string, PlannedStream> {
    const planned = new Map<string, PlannedStream>();
    for (const identity of this.#shared ? [this.#shared, own] : [own]) {
      const left = refs.filter((ref) => !planned.has(objectKey(ref)));
      for (const [key, spec] of planStreams(left, this.#contextOf(extension, identity)))
        if (identity === own || spec.name === undefined) planned.set(key, { identity, spec });
    }
    return planned;
  }

  #contextOf(extension: string, { key, isController, mayWatchAll }: WatchIdentity): PlanContext {
    const refused = this.#refused.get(key);
    return {
      extension,
      isController,
      isShared: this.#pool.isShared(key, extension),
      isRefused: (spec) => (refused?.has(streamKey(spec)) ?? false) || mayWatchAll?.(spec) === false,
    };
  }

  /** From now on the identity's objects of this stream are followed by name, or by the extensions' own identities where it is the shared one. */
  refuse(identity: string, spec: StreamSpec): void {
    const refused = this.#refused.get(identity) ?? new Set();
    this.#refused.set(identity, refused.add(streamKey(spec)));
  }

  /** Drops what is known of an identity that nobody uses any more. */
  forget(identity: string): void {
    this.#refused.delete(identity);
  }
}
