import type { KubeObject, ObjectRef } from "../../api/k8s.ts";
import { type Clock, systemClock } from "../../async/clock.ts";
import { describeObject, getObjectKey } from "../../release/identity.ts";
import type { Logger } from "../../telemetry/log.ts";
import { formatCount } from "../../text/lists.ts";
import { formatFirst } from "../state/objectActions.ts";
import { type Compared, FollowedExtension, type ObjectChange, type Observation } from "./followedObjects.ts";
import {
  describeSpec,
  getStreamKey,
  type PlanContext,
  planStreams,
  Semaphore,
  type StreamListener,
  type StreamSpec,
  type StreamState,
} from "./metadataStream.ts";
import { type SharedStream, StreamPool, type WatchIdentity } from "./streamPool.ts";

/** A stream to open, with its identity. */
interface PlannedStream {
  readonly identity: WatchIdentity;
  readonly spec: StreamSpec;
}

/** Assigns objects to streams, and remembers the streams by label that an identity may not open. */
class Connector {
  readonly #pool: StreamPool;
  readonly #createListener: (key: string) => StreamListener;
  /** Keys of denied streams by label, by identity. Their objects are watched by name. */
  readonly #refused = new Map<string, Set<string>>();

  /**
   * Identity for streams by label that serve all extensions; undefined if each extension uses only its own identity.
   */
  readonly #shared: WatchIdentity | undefined;

  /**
   * @param createListener returns the listener of a new stream, by its key.
   * @param shared an identity that may watch kinds in all namespaces.
   */
  constructor(pool: StreamPool, createListener: (key: string) => StreamListener, shared?: WatchIdentity) {
    this.#pool = pool;
    this.#createListener = createListener;
    this.#shared = shared;
  }

  /**
   * Assigns a stream to every object, and releases streams that are no longer needed.
   * @param fresh keys of objects whose earlier events an open stream may already have delivered. The stream therefore
   * lists its objects again.
   * @param current keys of the extension's streams so far.
   */
  connect(extension: string, { identity, objects }: FollowedExtension, fresh: ReadonlySet<string>, current: ReadonlySet<string>): void {
    const planned = this.#plan(
      extension,
      identity,
      [...objects.values()].map(({ ref }) => ref),
    );
    const stale = new Set<string>();
    const used = new Set<string>();
    const started = new Set<string>();
    const createListener = (key: string): StreamListener => {
      started.add(key);
      return this.#createListener(key);
    };
    for (const [key, object] of objects) {
      const plan = planned.get(key);
      const stream = plan && this.#pool.acquire(plan.identity, plan.spec, extension, createListener);
      if (stream) used.add(stream.key);
      if (stream && !started.has(stream.key) && (fresh.has(key) || object.stream !== stream.key)) stale.add(stream.key);
      object.stream = stream?.key;
    }
    for (const key of current) if (!used.has(key)) this.#pool.release(key, extension);
    for (const key of stale) this.#pool.get(key)?.refresh();
  }

  /**
   * Returns the stream of each object: by label with the shared identity unless denied, otherwise with the extension's
   * own identity.
   */
  #plan(extension: string, own: WatchIdentity, refs: readonly ObjectRef[]): Map<string, PlannedStream> {
    const planned = new Map<string, PlannedStream>();
    for (const identity of this.#shared ? [this.#shared, own] : [own]) {
      const remaining = refs.filter((ref) => !planned.has(getObjectKey(ref)));
      for (const [key, spec] of planStreams(remaining, this.#contextOf(extension, identity)))
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
      isRefused: (spec) => (refused?.has(getStreamKey(spec)) ?? false) || mayWatchAll?.(spec) === false,
    };
  }

  /**
   * Records that an identity may not open this stream by label. Its objects are then watched by name, or by the
   * extensions' own identities if it is the shared one.
   */
  refuse(identity: string, spec: StreamSpec): void {
    const refused = this.#refused.get(identity) ?? new Set();
    this.#refused.set(identity, refused.add(getStreamKey(spec)));
  }

  /** Removes the state of an identity that no extension uses. */
  forget(identity: string): void {
    this.#refused.delete(identity);
  }
}

/** A change of an object of an extension, except those by the controller itself. */
export interface ObjectEvent extends ObjectChange {
  readonly extension: string;
  readonly ref: ObjectRef;
}

/** Dependencies of the watches. */
export interface ObjectWatchesOptions {
  readonly log: Logger;
  /**
   * Queues an extension after a delay in milliseconds, because an object must be compared or `unwatched` has changed.
   */
  readonly requeueAfter: (extension: string, inMs: number) => void;
  /** Maximum delay in milliseconds between retries of a denied stream. */
  readonly retryRefusedMs: number;
  /** An identity that may watch kinds in all namespaces. Its streams serve all extensions. */
  readonly shared?: WatchIdentity | undefined;
  readonly clock?: Clock;
  /** Maximum number of streams; default 4,000. */
  readonly maxStreams?: number;
}

/** An object that is not watched, with the reason. */
export interface Unwatched {
  readonly ref: ObjectRef;
  /** Undefined while its stream connects. */
  readonly reason?: string;
}

/**
 * Formats a message about objects that are only compared at an interval, with the reason of the first one.
 * @param unwatched at least one.
 */
export function formatUnwatched(unwatched: readonly Unwatched[], intervalMs: number): string {
  const minutes = Math.max(1, Math.round(intervalMs / 60_000));
  const objects = formatFirst(unwatched.map(({ ref }) => describeObject(ref)));
  return `cannot watch ${objects}, so the controller can take up to ${formatCount(minutes, "minute")} to notice changes: ${unwatched[0]?.reason ?? ""}`;
}

const MAX_STREAMS = 4_000;
/** Maximum number of streams that connect at once. */
const CONNECTING = 32;
/** Delay that combines consecutive changes, such as those of a `kubectl delete -f`, into one reconcile. */
const SETTLE_MS = 50;

/**
 * Watches the metadata of installed objects as the extensions' own identities, and triggers a reconcile when an object
 * may have drifted. Reconciles call `hold` before they write, and `follow` or `resume` after they have compared
 * objects.
 */
export class ObjectWatches {
  readonly #clock: Clock;
  readonly #requeueAfter: ObjectWatchesOptions["requeueAfter"];
  readonly #pool: StreamPool;
  readonly #following = new Map<string, FollowedExtension>();
  readonly #connector: Connector;
  readonly #handlers: ((event: ObjectEvent) => void)[] = [];
  readonly #log: Logger;

  constructor({ log, requeueAfter, retryRefusedMs, shared, clock = systemClock, maxStreams = MAX_STREAMS }: ObjectWatchesOptions) {
    this.#log = log;
    this.#clock = clock;
    this.#requeueAfter = requeueAfter;
    this.#pool = new StreamPool({ clock, log, retryRefusedMs, gate: new Semaphore(CONNECTING) }, maxStreams);
    this.#connector = new Connector(this.#pool, (key) => this.#createListener(key), shared);
  }

  /** Number of streams in each state, for metrics. */
  get states(): Record<StreamState["kind"], number> {
    return this.#pool.states;
  }

  /** Calls `handler` for changes of objects by other clients, including status. Errors of the handler are logged. */
  onObjectEvent(handler: (event: ObjectEvent) => void): void {
    this.#handlers.push(handler);
  }

  /** Reports whether all objects of the extension were compared with this identity. If not, a comparison is needed. */
  isFollowing(extension: string, uid: string, identity: string): boolean {
    const following = this.#following.get(extension);
    return following !== undefined && !following.isBeingWritten && following.uid === uid && following.identity.key === identity;
  }

  /** Suspends the evaluation of changes while an extension's objects are written, until `follow` or `resume`. */
  hold(extension: string): void {
    const following = this.#following.get(extension);
    if (following) following.isBeingWritten = true;
  }

  /** Resumes the evaluation after writes, with the comparisons of single objects. */
  resume(extension: string, compared: readonly Compared[]): void {
    const following = this.#following.get(extension);
    if (!following) return;
    following.isBeingWritten = false;
    following.recordComparisons(compared, this.#clock.now());
    this.#evaluate(extension, following);
  }

  /** Watches exactly these objects of an extension from now on, with their comparisons. */
  follow(extension: string, uid: string, identity: WatchIdentity, compared: readonly Compared[]): void {
    const known = this.#following.get(extension);
    const before = known?.uid === uid && known.identity.key === identity.key ? known : undefined;
    if (!before) this.forget(extension);
    const following = new FollowedExtension(uid, identity);
    const now = this.#clock.now();
    const fresh = compared.filter((one) => following.add(one, before, now)).map(({ ref }) => getObjectKey(ref));
    this.#following.set(extension, following);
    this.#connector.connect(extension, following, new Set(fresh), before?.streams ?? new Set());
    this.#evaluate(extension, following);
  }

  /** Returns the objects of an extension to compare now: changed ones, and those whose last comparison failed. */
  suspects(extension: string): ObjectRef[] {
    return this.#following.get(extension)?.suspects(this.#clock.now() + SETTLE_MS) ?? [];
  }

  /** Schedules the next comparison again, because another request may have replaced its timer. */
  remind(extension: string): void {
    const following = this.#following.get(extension);
    if (following) this.#evaluate(extension, following);
  }

  /** Returns the objects of an extension whose changes are currently not noticed. */
  unwatched(extension: string): Unwatched[] {
    const objects = [...(this.#following.get(extension)?.objects.values() ?? [])];
    return objects.flatMap(({ ref, stream }): Unwatched[] => {
      const state = stream === undefined ? undefined : this.#pool.get(stream)?.state;
      if (!state) return [{ ref, reason: "the limit of object watches is reached" }];
      if (state.kind === "open") return [];
      return [state.kind === "refused" ? { ref, reason: state.message } : { ref }];
    });
  }

  /**
   * Reports whether all changes of an extension's objects are noticed, or will be when their streams are connected. False while its objects are being
   * written: changes are not evaluated then, and after a failed release not until the next successful one.
   */
  covers(extension: string): boolean {
    const following = this.#following.get(extension);
    return following !== undefined && !following.isBeingWritten && this.unwatched(extension).every(({ reason }) => reason === undefined);
  }

  /** Ends all watches of an extension. */
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

  #createListener(key: string): StreamListener {
    const observeOne = (object: KubeObject, observation: Observation): void => {
      const observed = getObjectKey(object);
      this.#observe(key, (id) => (id === observed ? observation : undefined));
    };
    return {
      onList: (items, resourceVersion) => {
        const found = new Map(items.map((item) => [getObjectKey(item), item.metadata]));
        this.#observe(key, (id) => {
          const metadata = found.get(id);
          return metadata ? { kind: "exists", metadata } : { kind: "gone", resourceVersion };
        });
      },
      onChange: (object) => observeOne(object, { kind: "exists", metadata: object.metadata }),
      onDelete: (object) => observeOne(object, { kind: "gone", resourceVersion: object.metadata.resourceVersion ?? "" }),
      onStateChange: (state, before) => this.#handleStateChange(key, state, before),
    };
  }

  #observe(stream: string, find: (key: string) => Observation | undefined): void {
    for (const extension of this.#pool.get(stream)?.users ?? []) {
      const following = this.#following.get(extension);
      if (!following) continue;
      following.observe(stream, find);
      this.#evaluate(extension, following);
    }
  }

  #evaluate(extension: string, following: FollowedExtension): void {
    for (const change of following.evaluate(this.#clock.now())) this.#notify({ extension, ...change });
    const { dueAt } = following;
    if (dueAt !== undefined && !following.isBeingWritten) this.#requeueAfter(extension, Math.max(dueAt - this.#clock.now(), SETTLE_MS));
  }

  /**
   * Replaces a denied stream by label with streams by name. If a stream by name is denied, its object is only compared
   * at intervals, and the extension reports this.
   */
  #handleStateChange(key: string, state: StreamState, before: StreamState): void {
    const stream = this.#pool.get(key);
    if (!stream) return;
    if (state.kind === "refused" && stream.spec.name === undefined) this.#followByName(stream);
    else if (state.kind === "refused" || before.kind === "refused")
      for (const extension of stream.users) this.#requeueAfter(extension, SETTLE_MS);
  }

  #followByName({ spec, identity, users }: SharedStream): void {
    this.#log.debug({ watching: describeSpec(spec), identity }, "watching by label is forbidden, watching by name instead");
    this.#connector.refuse(identity, spec);
    for (const extension of users) {
      const following = this.#following.get(extension);
      if (following) this.#connector.connect(extension, following, new Set(), following.streams);
    }
  }

  #notify(event: ObjectEvent): void {
    for (const handler of this.#handlers) {
      try {
        handler(event);
      } catch (err) {
        this.#log.error({ err, ...event }, "event handler failed");
      }
    }
  }
}
