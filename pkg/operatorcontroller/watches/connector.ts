import type { Following } from "./following.ts";
import type { StreamListener } from "./metadataStream.ts";
import { planStreams, type StreamSpec, streamKey } from "./plan.ts";
import type { StreamPool } from "./streamPool.ts";

/** Connects objects with the streams that tell of them, and remembers which streams by label an identity may not have. */
export class Connector {
  readonly #pool: StreamPool;
  readonly #listenerOf: (key: string) => StreamListener;
  /** Keys of streams by label that were refused, by identity: their objects are followed by name. */
  readonly #refused = new Map<string, Set<string>>();

  /** @param listenerOf gives the listener of a stream that is started, by its key. */
  constructor(pool: StreamPool, listenerOf: (key: string) => StreamListener) {
    this.#pool = pool;
    this.#listenerOf = listenerOf;
  }

  /**
   * Gives every object its stream and lets go of those that are not needed any more.
   * @param fresh keys of objects of which a stream that is open already may have told something before: it is listed anew.
   * @param left keys of the extension's streams until now.
   */
  connect(extension: string, { identity, objects }: Following, fresh: ReadonlySet<string>, left: ReadonlySet<string>): void {
    const refused = this.#refused.get(identity.key);
    const refs = [...objects.values()].map(({ ref }) => ref);
    const planned = planStreams(refs, {
      extension,
      isController: identity.isController,
      isShared: this.#pool.isShared(identity.key, extension),
      isRefused: (spec) => (refused?.has(streamKey(spec)) ?? false) || identity.mayWatchAll?.(spec) === false,
    });
    const stale = new Set<string>();
    const used = new Set<string>();
    const started = new Set<string>();
    const listenerOf = (key: string): StreamListener => {
      started.add(key);
      return this.#listenerOf(key);
    };
    for (const [key, object] of objects) {
      const spec = planned.get(key);
      const stream = spec && this.#pool.acquire(identity, spec, extension, listenerOf);
      if (stream) used.add(stream.key);
      if (stream && !started.has(stream.key) && (fresh.has(key) || object.stream !== stream.key)) stale.add(stream.key);
      object.stream = stream?.key;
    }
    for (const key of left) if (!used.has(key)) this.#pool.release(key, extension);
    for (const key of stale) this.#pool.get(key)?.refresh();
  }

  /** From now on the identity's objects of this stream are followed by name. */
  refuse(identity: string, spec: StreamSpec): void {
    const refused = this.#refused.get(identity) ?? new Set();
    this.#refused.set(identity, refused.add(streamKey(spec)));
  }

  /** Drops what is known of an identity that nobody uses any more. */
  forget(identity: string): void {
    this.#refused.delete(identity);
  }
}
