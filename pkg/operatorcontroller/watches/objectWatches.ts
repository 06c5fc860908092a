import type { KubeObject, ObjectRef } from "../../api/k8s.ts";
import { type Clock, systemClock } from "../../async/clock.ts";
import { describeObject, objectKey } from "../../release/identity.ts";
import type { Logger } from "../../telemetry/log.ts";
import { formatCount } from "../../text/lists.ts";
import { formatFirst } from "../state/objectActions.ts";
import { type Compared, Following, type News, type Sighting } from "./followedObjects.ts";
import {
  describeSpec,
  type PlanContext,
  planStreams,
  Semaphore,
  type StreamListener,
  type StreamSpec,
  type StreamState,
  streamKey,
} from "./metadataStream.ts";
import { type SharedStream, StreamPool, type WatchIdentity } from "./streamPool.ts";

/** A stream to be and who opens it. */
interface PlannedStream {
  readonly identity: WatchIdentity;
  readonly spec: StreamSpec;
}

/** Connects objects with the streams that tell of them, and remembers which streams by label an identity may not have. */
class Connector {
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

/** Something happened to an object of an extension; our own writes are not told. */
export interface ObjectEvent extends News {
  readonly extension: string;
  readonly ref: ObjectRef;
}

/** What the watches need from the outside. */
export interface ObjectWatchesOptions {
  readonly log: Logger;
  /** Asks for a pass over an extension, in so many milliseconds: an object is to be compared, or what `unwatched` says has changed. */
  readonly wake: (extension: string, inMs: number) => void;
  /** How often at least a stream that was refused is tried again. */
  readonly retryRefusedMs: number;
  /** An identity that may look at kinds everywhere: where it may, its streams serve all extensions. */
  readonly shared?: WatchIdentity | undefined;
  readonly clock?: Clock;
  /** How many streams there may be; default 4,000. */
  readonly maxStreams?: number;
}

/** An object that is not watched, and why. */
export interface Unwatched {
  readonly ref: ObjectRef;
  /** Undefined while its stream is only being connected. */
  readonly because?: string;
}

/**
 * Says which objects are compared at an interval only, and why the first one of them is.
 * @param unwatched at least one.
 */
export function formatUnwatched(unwatched: readonly Unwatched[], intervalMs: number): string {
  const minutes = Math.max(1, Math.round(intervalMs / 60_000));
  const objects = formatFirst(unwatched.map(({ ref }) => describeObject(ref)));
  return `cannot watch ${objects}, so the controller notices changes within ${formatCount(minutes, "minute")} only: ${unwatched[0]?.because ?? ""}`;
}

const MAX_STREAMS = 4_000;
/** Streams that may be connecting at once. */
const CONNECTING = 32;
/** Changes in a row, as of a `kubectl delete -f`, make one pass. */
const SETTLE_MS = 50;

/**
 * Watches the metadata of what is installed, as the extensions' own identities, and asks for a pass when something may have drifted. Which
 * object it is and how it should be is told by passes: `hold` before they write, `follow` or `take` when they have compared.
 */
export class ObjectWatches {
  readonly #clock: Clock;
  readonly #wake: ObjectWatchesOptions["wake"];
  readonly #pool: StreamPool;
  readonly #following = new Map<string, Following>();
  readonly #connector: Connector;
  readonly #handlers: ((event: ObjectEvent) => void)[] = [];
  readonly #log: Logger;

  constructor({ log, wake, retryRefusedMs, shared, clock = systemClock, maxStreams = MAX_STREAMS }: ObjectWatchesOptions) {
    this.#log = log;
    this.#clock = clock;
    this.#wake = wake;
    this.#pool = new StreamPool({ clock, log, retryRefusedMs, gate: new Semaphore(CONNECTING) }, maxStreams);
    this.#connector = new Connector(this.#pool, (key) => this.#listenerOf(key), shared);
  }

  /** How many streams are in each state; for metrics. */
  get states(): Record<StreamState["kind"], number> {
    return this.#pool.states;
  }

  /** Calls `handler` for what others do to the objects of all extensions, status included. What it throws is logged. */
  onObjectEvent(handler: (event: ObjectEvent) => void): void {
    this.#handlers.push(handler);
  }

  /** Whether everything of the extension is known from a comparison as this identity; otherwise one is due. */
  isFollowing(extension: string, uid: string, identity: string): boolean {
    const following = this.#following.get(extension);
    return following !== undefined && !following.isWritten && following.uid === uid && following.identity.key === identity;
  }

  /** Tells that an extension's objects are being written: nothing is judged before `follow` or `resume`. */
  hold(extension: string): void {
    const following = this.#following.get(extension);
    if (following) following.isWritten = true;
  }

  /** Tells that nothing is written any more, and how single objects were found. */
  resume(extension: string, compared: readonly Compared[]): void {
    const following = this.#following.get(extension);
    if (!following) return;
    following.isWritten = false;
    following.take(compared, this.#clock.now());
    this.#judge(extension, following);
  }

  /** Follows exactly these objects of an extension from now on, as they were found or left. */
  follow(extension: string, uid: string, identity: WatchIdentity, compared: readonly Compared[]): void {
    const known = this.#following.get(extension);
    const before = known?.uid === uid && known.identity.key === identity.key ? known : undefined;
    if (!before) this.forget(extension);
    const following = new Following(uid, identity);
    const now = this.#clock.now();
    const fresh = compared.filter((one) => following.add(one, before, now)).map(({ ref }) => objectKey(ref));
    this.#following.set(extension, following);
    this.#connector.connect(extension, following, new Set(fresh), before?.streams ?? new Set());
    this.#judge(extension, following);
  }

  /** Objects of an extension that are to be compared now: something was seen of them, or their last comparison failed. */
  suspects(extension: string): ObjectRef[] {
    return this.#following.get(extension)?.suspects(this.#clock.now() + SETTLE_MS) ?? [];
  }

  /** Asks once more for the pass at which the next comparison is due: one that was asked for earlier may have taken its place. */
  remind(extension: string): void {
    const following = this.#following.get(extension);
    if (following) this.#judge(extension, following);
  }

  /** Objects of an extension of which a change would not be seen just now. */
  unwatched(extension: string): Unwatched[] {
    const objects = [...(this.#following.get(extension)?.objects.values() ?? [])];
    return objects.flatMap(({ ref, stream }): Unwatched[] => {
      const state = stream === undefined ? undefined : this.#pool.get(stream)?.state;
      if (!state) return [{ ref, because: "as many objects are watched as may be" }];
      if (state.kind === "open") return [];
      return [state.kind === "refused" ? { ref, because: state.message } : { ref }];
    });
  }

  /** Whether every change of an extension's objects is seen, or will be as soon as their streams are connected. */
  covers(extension: string): boolean {
    return this.#following.has(extension) && this.unwatched(extension).every(({ because }) => because === undefined);
  }

  /** Ends everything about an extension. */
  forget(extension: string): void {
    const following = this.#following.get(extension);
    if (!following) return;
    this.#following.delete(extension);
    for (const key of following.streams) this.#pool.release(key, extension);
    const { key } = following.identity;
    if (![...this.#following.values()].some(({ identity }) => identity.key === key)) this.#connector.forget(key);
  }

  /** Closes all streams. */
  close(): void {
    this.#following.clear();
    this.#pool.close();
  }

  #listenerOf(key: string): StreamListener {
    const seeOne = (object: KubeObject, sighting: Sighting): void => {
      const seen = objectKey(object);
      this.#see(key, (id) => (id === seen ? sighting : undefined));
    };
    return {
      listed: (items, resourceVersion) => {
        const found = new Map(items.map((item) => [objectKey(item), item.metadata]));
        this.#see(key, (id) => {
          const metadata = found.get(id);
          return metadata ? { kind: "there", metadata } : { kind: "gone", resourceVersion };
        });
      },
      changed: (object) => seeOne(object, { kind: "there", metadata: object.metadata }),
      deleted: (object) => seeOne(object, { kind: "gone", resourceVersion: object.metadata.resourceVersion ?? "" }),
      turned: (state, before) => this.#turned(key, state, before),
    };
  }

  #see(stream: string, sightingOf: (key: string) => Sighting | undefined): void {
    for (const extension of this.#pool.get(stream)?.users ?? []) {
      const following = this.#following.get(extension);
      if (!following) continue;
      following.see(stream, sightingOf);
      this.#judge(extension, following);
    }
  }

  #judge(extension: string, following: Following): void {
    for (const news of following.judge(this.#clock.now())) this.#tell({ extension, ...news });
    const { dueAt } = following;
    if (dueAt !== undefined && !following.isWritten) this.#wake(extension, Math.max(dueAt - this.#clock.now(), SETTLE_MS));
  }

  /** A refused stream by label is replaced by ones by name; one by name leaves its object to comparisons, and the extension says so. */
  #turned(key: string, state: StreamState, before: StreamState): void {
    const stream = this.#pool.get(key);
    if (!stream) return;
    if (state.kind === "refused" && stream.spec.name === undefined) this.#followByName(stream);
    else if (state.kind === "refused" || before.kind === "refused") for (const extension of stream.users) this.#wake(extension, SETTLE_MS);
  }

  #followByName({ spec, identity, users }: SharedStream): void {
    this.#log.debug({ watching: describeSpec(spec), identity }, "may not be watched as a whole, watching by name");
    this.#connector.refuse(identity, spec);
    for (const extension of users) {
      const following = this.#following.get(extension);
      if (following) this.#connector.connect(extension, following, new Set(), following.streams);
    }
  }

  #tell(event: ObjectEvent): void {
    for (const handler of this.#handlers) {
      try {
        handler(event);
      } catch (err) {
        this.#log.error({ err, ...event }, "event handler failed");
      }
    }
  }
}
