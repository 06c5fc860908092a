import type { KubeObject, ObjectRef } from "../../api/k8s.ts";
import { type Clock, systemClock } from "../../controller/clock.ts";
import { objectKey } from "../../release/identity.ts";
import type { Logger } from "../../telemetry/log.ts";
import { type Compared, FollowedObject } from "./followedObject.ts";
import { Gate } from "./gate.ts";
import type { Sighting } from "./mark.ts";
import type { StreamListener, StreamState } from "./metadataStream.ts";
import { describeSpec, planStreams, streamKey } from "./plan.ts";
import { type SharedStream, StreamPool, type WatchIdentity } from "./streamPool.ts";

/** Something happened to an object of an extension; our own writes are not told. */
export interface ObjectEvent {
  readonly extension: string;
  readonly ref: ObjectRef;
  readonly type: "deleted" | "changed";
  /** False for kinds without one, and where only status or metadata changed. */
  readonly generationChanged: boolean;
}

/** What the watches need from the outside. */
export interface ObjectWatchesOptions {
  readonly log: Logger;
  /** Asks for a pass over an extension, in so many milliseconds: an object is to be compared, or what `unwatched` says has changed. */
  readonly wake: (extension: string, inMs: number) => void;
  /** How often at least a stream that was refused is tried again. */
  readonly retryRefusedMs: number;
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

/** One extension and its objects. */
interface Following {
  readonly uid: string;
  identity: WatchIdentity;
  /** By objectKey. */
  readonly objects: Map<string, FollowedObject>;
  /** Its objects are being written: what is seen is judged afterwards. */
  isWritten: boolean;
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
  /** Streams by label that were refused, by identity: they are followed by name. */
  readonly #refused = new Map<string, Set<string>>();
  readonly #handlers: ((event: ObjectEvent) => void)[] = [];
  readonly #log: Logger;

  constructor({ log, wake, retryRefusedMs, clock = systemClock, maxStreams = MAX_STREAMS }: ObjectWatchesOptions) {
    this.#log = log;
    this.#clock = clock;
    this.#wake = wake;
    this.#pool = new StreamPool({ clock, log, retryRefusedMs, gate: new Gate(CONNECTING) }, maxStreams);
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
    const now = this.#clock.now();
    following.isWritten = false;
    for (const one of compared) following.objects.get(objectKey(one.ref))?.take(one, now);
    this.#judge(extension, following);
  }

  /** Follows exactly these objects of an extension from now on, as they were found or left. */
  follow(extension: string, uid: string, identity: WatchIdentity, compared: readonly Compared[]): void {
    const before = this.#following.get(extension);
    const keeps = before?.uid === uid && before.identity.key === identity.key;
    if (before && !keeps) this.forget(extension);
    const following: Following = { uid, identity, objects: new Map(), isWritten: false };
    const now = this.#clock.now();
    const left = new Set(keeps ? streamsOf(before) : []);
    const fresh = new Set<string>();
    for (const one of compared) {
      const key = objectKey(one.ref);
      const known = keeps ? before.objects.get(key) : undefined;
      const object = known ?? new FollowedObject(one.ref);
      if (!known) fresh.add(key);
      object.take(one, now);
      following.objects.set(key, object);
    }
    this.#following.set(extension, following);
    this.#connect(extension, following, fresh, left);
    this.#judge(extension, following);
  }

  /** Objects of an extension that are to be compared now: something was seen of them, or their last comparison failed. */
  suspects(extension: string): ObjectRef[] {
    const until = this.#clock.now() + SETTLE_MS;
    const objects = [...(this.#following.get(extension)?.objects.values() ?? [])];
    return objects.filter(({ dueAt, isFailed }) => isFailed || (dueAt !== undefined && dueAt <= until)).map(({ ref }) => ref);
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

  /** Ends everything about an extension. */
  forget(extension: string): void {
    const following = this.#following.get(extension);
    if (!following) return;
    this.#following.delete(extension);
    for (const key of streamsOf(following)) this.#pool.release(key, extension);
    const { key } = following.identity;
    if (![...this.#following.values()].some(({ identity }) => identity.key === key)) this.#refused.delete(key);
  }

  /** Closes all streams. */
  close(): void {
    this.#following.clear();
    this.#pool.close();
  }

  /**
   * Gives every object its stream and lets go of those that are not needed any more.
   * @param fresh keys of objects of which a stream that is open already may have told something before: it is listed anew.
   * @param left keys of the streams until now.
   */
  #connect(extension: string, following: Following, fresh: ReadonlySet<string>, left: Set<string>): void {
    const { identity, objects } = following;
    const refused = this.#refused.get(identity.key);
    const planned = planStreams(
      [...objects.values()].map(({ ref }) => ref),
      {
        extension,
        isController: identity.isController,
        isShared: this.#pool.isShared(identity.key, extension),
        isRefused: (spec) => refused?.has(streamKey(spec)) ?? false,
      },
    );
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

  #listenerOf(key: string): StreamListener {
    const see = (sightingOf: (object: FollowedObject, id: string) => Sighting | undefined): void => this.#see(key, sightingOf);
    const seeOne = (metadata: KubeObject, sighting: Sighting): void => {
      const id = objectKey(metadata);
      see((_object, other) => (other === id ? sighting : undefined));
    };
    return {
      listed: (items, resourceVersion) => {
        const found = new Map(items.map((item) => [objectKey(item), item.metadata]));
        see((_object, id) => {
          const metadata = found.get(id);
          return metadata ? { kind: "there", metadata } : { kind: "gone", resourceVersion };
        });
      },
      changed: (object) => seeOne(object, { kind: "there", metadata: object.metadata }),
      deleted: (object) => seeOne(object, { kind: "gone", resourceVersion: object.metadata.resourceVersion ?? "" }),
      turned: (state, before) => this.#turned(key, state, before),
    };
  }

  #see(stream: string, sightingOf: (object: FollowedObject, id: string) => Sighting | undefined): void {
    for (const extension of this.#pool.get(stream)?.users ?? []) {
      const following = this.#following.get(extension);
      if (!following) continue;
      for (const [id, object] of following.objects) {
        const seen = object.stream === stream ? sightingOf(object, id) : undefined;
        if (seen) object.see(seen);
      }
      this.#judge(extension, following);
    }
  }

  /** Decides about everything that was seen of an extension's objects, unless they are being written. */
  #judge(extension: string, following: Following): void {
    if (following.isWritten) return;
    const now = this.#clock.now();
    for (const object of following.objects.values()) {
      const news = object.judge(now);
      if (news) this.#tell({ extension, ref: object.ref, ...news });
    }
    this.#wakeFor(extension, following);
  }

  #wakeFor(extension: string, { objects }: Following): void {
    const due = [...objects.values()].flatMap(({ dueAt }) => dueAt ?? []);
    if (due.length > 0) this.#wake(extension, Math.max(Math.min(...due) - this.#clock.now(), SETTLE_MS));
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
    const refused = this.#refused.get(identity) ?? new Set();
    this.#refused.set(identity, refused.add(streamKey(spec)));
    for (const extension of users) {
      const following = this.#following.get(extension);
      if (following) this.#connect(extension, following, new Set(), new Set(streamsOf(following)));
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

function streamsOf({ objects }: Following): string[] {
  return [...new Set([...objects.values()].flatMap(({ stream }) => stream ?? []))];
}
