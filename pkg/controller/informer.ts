import type { GroupVersionKind, KubeObject } from "../api/k8s.ts";
import { Backoff, Repeats } from "../async/backoff.ts";
import { type Clock, sleep, systemClock } from "../async/clock.ts";
import { messageOf } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { isExpired, KubeError, retryAfterMsOf } from "../kube/errors.ts";
import type { Selection, WatchEvent } from "../kube/request.ts";
import type { Logger } from "../telemetry/log.ts";

/** What changed in a store. `old` is the object before, of an update or delete. */
export interface StoreEvent<T extends KubeObject> {
  type: "add" | "update" | "delete";
  object: T;
  old?: T;
}

/** "namespace/name", or "name" of a cluster-scoped object: the key of stores and work queues. */
export function keyOf({ metadata: { name, namespace } }: KubeObject): string {
  return namespace ? `${namespace}/${name}` : name;
}

/** Objects of one kind by key, with indexes. Objects are shared, not copied: never change one. */
export class Store<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #indexes = new Map<string, { valuesOf: (object: T) => readonly string[]; keys: Map<string, Set<string>> }>();

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  /** All objects, in no order that means anything. */
  list(): T[] {
    return [...this.#objects.values()];
  }

  /** Indexes all objects, now and later, by the values that `valuesOf` gives; it must be pure. */
  addIndex(name: string, valuesOf: (object: T) => readonly string[]): void {
    const index = { valuesOf, keys: new Map<string, Set<string>>() };
    this.#indexes.set(name, index);
    for (const [key, object] of this.#objects) for (const value of valuesOf(object)) addTo(index.keys, value, key);
  }

  /** The objects that an index has under `value`. @throws Error when there is no such index. */
  byIndex(name: string, value: string): T[] {
    const index = this.#indexes.get(name);
    if (!index) throw new Error(`no index "${name}"`);
    return [...(index.keys.get(value) ?? [])].flatMap((key) => this.#objects.get(key) ?? []);
  }

  /** Stores an object; undefined when it is there already at the same resourceVersion. */
  set(object: T): StoreEvent<T> | undefined {
    const key = keyOf(object);
    const old = this.#objects.get(key);
    const { resourceVersion, uid } = object.metadata;
    if (old && resourceVersion !== undefined && old.metadata.resourceVersion === resourceVersion && old.metadata.uid === uid)
      return undefined;
    if (old) this.#unindex(key, old);
    this.#objects.set(key, object);
    for (const { valuesOf, keys } of this.#indexes.values()) for (const value of valuesOf(object)) addTo(keys, value, key);
    return old ? { type: "update", object, old } : { type: "add", object };
  }

  /** Removes an object; the event carries it as it was last seen, with `last` as its final state when given. */
  delete(key: string, last?: T): StoreEvent<T> | undefined {
    const old = this.#objects.get(key);
    if (!old) return undefined;
    this.#unindex(key, old);
    this.#objects.delete(key);
    return { type: "delete", object: last ?? old, old };
  }

  /** Makes the store hold exactly `objects`. An object that was deleted and made again under its name is a delete and an add. */
  replace(objects: readonly T[]): StoreEvent<T>[] {
    const keys = new Set(objects.map(keyOf));
    const gone = [...this.#objects.keys()].filter((key) => !keys.has(key)).map((key) => this.delete(key));
    return [...gone, ...objects.flatMap((object) => this.put(object))].filter((event) => event !== undefined);
  }

  /** `set`, with a delete before it when the object is another one under the same name. */
  put(object: T): StoreEvent<T>[] {
    const key = keyOf(object);
    const old = this.#objects.get(key);
    const another = old !== undefined && old.metadata.uid !== object.metadata.uid ? this.delete(key) : undefined;
    return [another, this.set(object)].filter((event) => event !== undefined);
  }

  #unindex(key: string, object: T): void {
    for (const { valuesOf, keys } of this.#indexes.values()) {
      for (const value of valuesOf(object)) {
        const held = keys.get(value);
        held?.delete(key);
        if (held?.size === 0) keys.delete(value);
      }
    }
  }
}

function addTo(keys: Map<string, Set<string>>, value: string, key: string): void {
  const held = keys.get(value);
  if (held) held.add(key);
  else keys.set(value, new Set([key]));
}

/** What an informer needs of a Client. */
export type ListerWatcher = Pick<Client, "list" | "watch">;

/** Options of Informer beside which objects it follows. */
export interface InformerOptions<T extends KubeObject> extends Selection {
  /** Called on each object before it is stored, for example `withoutBulk`; must keep identity and resourceVersion. */
  transform?: (object: T) => T;
  /** Longest pause between attempts while the API server does not answer or refuses. Default 30 s. */
  maxBackoffMs?: number;
  clock?: Clock;
  /** Told after each complete list, once the store holds it. */
  listed?: () => void;
  /** Told of each failure, and what failed, before it waits and tries again. */
  failed?: (err: unknown, during: "list" | "watch") => void;
}

const BASE_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 30_000;
/** A watch that ends sooner without an event counts as a failure, or the loop would spin. */
const SHORT_WATCH_MS = 1_000;
/** For as long as that the same interruption is told once. */
const QUIET_MS = 300_000;
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** `object` without managedFields and kubectl's last-applied annotation, often more than half of its bytes. */
export function withoutBulk<T extends KubeObject>(object: T): T {
  const { managedFields: _managed, annotations, ...metadata } = object.metadata;
  if (annotations === undefined) return { ...object, metadata };
  const { [LAST_APPLIED]: _last, ...kept } = annotations;
  return { ...object, metadata: { ...metadata, annotations: kept } };
}

/**
 * Follows the objects of one kind: a list, then a watch for as long as it lasts, for ever. Broken connections, restarts of the API server,
 * an expired resourceVersion and a time without rights only delay it; what it held stays readable meanwhile.
 */
export class Informer<T extends KubeObject = KubeObject> {
  /** Resolves when the first complete list is in; rejects with the signal's reason when `run` is stopped before. */
  readonly synced: Promise<void>;
  readonly #client: ListerWatcher;
  readonly #gvk: GroupVersionKind;
  readonly #selection: Selection;
  readonly #transform: (object: T) => T;
  readonly #backoff: Backoff;
  readonly #clock: Clock;
  readonly #listed: () => void;
  readonly #failed: (err: unknown, during: "list" | "watch") => void;
  readonly #log: Logger;
  readonly #store = new Store<T>();
  readonly #handlers: ((event: StoreEvent<T>) => void)[] = [];
  readonly #sync = Promise.withResolvers<void>();
  readonly #interruptions: Repeats;
  #hasSynced = false;
  /** Where to watch from; undefined when a list must come first. */
  #resourceVersion: string | undefined;

  constructor(client: ListerWatcher, gvk: GroupVersionKind, options: InformerOptions<T>, log: Logger) {
    const { transform, maxBackoffMs = MAX_BACKOFF_MS, clock = systemClock, listed, failed, ...selection } = options;
    this.#client = client;
    this.#gvk = { apiVersion: gvk.apiVersion, kind: gvk.kind };
    this.#selection = selection;
    this.#transform = transform ?? ((object) => object);
    this.#backoff = new Backoff(BASE_BACKOFF_MS, maxBackoffMs);
    this.#clock = clock;
    this.#interruptions = new Repeats(clock, QUIET_MS);
    this.#listed = listed ?? (() => undefined);
    this.#failed = failed ?? (() => undefined);
    this.#log = log.child({ informer: gvk.kind });
    this.synced = this.#sync.promise;
    this.synced.catch(() => {});
  }

  /** True once the first complete list is in; for readiness checks. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Calls `handler` for every change from now on, and at once with an add for each object there is. What it throws is logged. */
  onEvent(handler: (event: StoreEvent<T>) => void): void {
    this.#handlers.push(handler);
    for (const object of this.#store.list()) this.#call(handler, { type: "add", object });
  }

  /** One object as last seen. Read-only: it is shared with everybody. */
  get(name: string, namespace?: string): T | undefined {
    return this.#store.get(namespace ? `${namespace}/${name}` : name);
  }

  /** All objects as last seen. Read-only. */
  list(): T[] {
    return this.#store.list();
  }

  /** Makes `byIndex(name, value)` answer for each value that `valuesOf` gives for an object. */
  addIndex(name: string, valuesOf: (object: T) => readonly string[]): void {
    this.#store.addIndex(name, valuesOf);
  }

  /** The objects under one value of an index, without a search. */
  byIndex(name: string, value: string): T[] {
    return this.#store.byIndex(name, value);
  }

  /** Follows until `signal` aborts; never throws. Call once. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#follow(signal);
      } catch (err) {
        if (!signal.aborted) await this.#recoverFrom(err, signal);
      }
    }
    if (!this.#hasSynced) this.#sync.reject(signal.reason);
  }

  async #follow(signal: AbortSignal): Promise<void> {
    this.#resourceVersion ??= await this.#list(signal);
    const started = this.#clock.now();
    const watch = this.#client.watch<T>(this.#gvk, { ...this.#selection, resourceVersion: this.#resourceVersion, signal });
    let events = 0;
    for await (const event of watch) {
      events++;
      this.#backoff.reset();
      this.#take(event);
    }
    if (events === 0 && this.#clock.now() - started < SHORT_WATCH_MS) throw new Error("the server ended the watch at once");
    this.#backoff.reset();
  }

  async #list(signal: AbortSignal): Promise<string> {
    const { items, resourceVersion } = await this.#client.list<T>(this.#gvk, { ...this.#selection, signal });
    for (const event of this.#store.replace(items.map(this.#transform))) this.#emit(event);
    if (!this.#hasSynced) this.#log.debug({ objects: items.length }, "informer synced");
    this.#hasSynced = true;
    this.#sync.resolve();
    this.#resumed();
    this.#listed();
    return resourceVersion;
  }

  #take({ type, object }: WatchEvent<T>): void {
    this.#resumed();
    if (type === "DELETED") {
      const event = this.#store.delete(keyOf(object), this.#transform(object));
      if (event) this.#emit(event);
    } else if (type !== "BOOKMARK") {
      for (const event of this.#store.put(this.#transform(object))) this.#emit(event);
    }
    this.#resourceVersion = object.metadata.resourceVersion ?? this.#resourceVersion;
  }

  /**
   * Decides where to go on, and waits, not for less than the server asked for.
   * expired (410)                    list again
   * first failure, any other         watch on from where the stream broke
   * second and later ones in a row   list again: after a long absence the server may even be one with an older history
   */
  async #recoverFrom(err: unknown, signal: AbortSignal): Promise<void> {
    const retryInMs = Math.max(this.#backoff.next(), retryAfterMsOf(err) ?? 0);
    const first = this.#backoff.attempts === 1;
    this.#failed(err, this.#resourceVersion === undefined ? "list" : "watch");
    if (isExpired(err) || !first) this.#resourceVersion = undefined;
    const reason = messageOf(err);
    const isUsual = first && !(err instanceof KubeError && !isExpired(err));
    const level = isUsual || this.#interruptions.tell(reason) === undefined ? "debug" : "warn";
    this.#log[level]({ reason, attempt: this.#backoff.attempts, retryInMs }, "watch interrupted");
    await sleep(this.#clock, retryInMs, signal);
  }

  #resumed(): void {
    if (!this.#interruptions.isTold) return;
    this.#interruptions.forget();
    this.#log.info("watch resumed");
  }

  #emit(event: StoreEvent<T>): void {
    for (const handler of this.#handlers) this.#call(handler, event);
  }

  #call(handler: (event: StoreEvent<T>) => void, event: StoreEvent<T>): void {
    try {
      handler(event);
    } catch (err) {
      this.#log.error({ err, object: keyOf(event.object), event: event.type }, "event handler failed");
    }
  }
}
