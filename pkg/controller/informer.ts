import type { GroupVersionKind, KubeObject } from "../api/k8s.ts";
import { Backoff, Repeats } from "../async/backoff.ts";
import { type Clock, sleep, systemClock } from "../async/clock.ts";
import { getErrorMessage } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { getRetryAfterMs, isExpired, KubeError } from "../kube/errors.ts";
import type { ListSelection, WatchEvent } from "../kube/request.ts";
import type { Logger } from "../telemetry/log.ts";

/** A change in a store. `old` is the previous object of an update or delete. */
export interface StoreEvent<T extends KubeObject> {
  type: "add" | "update" | "delete";
  object: T;
  old?: T;
}

/** Returns the key of an object in stores and work queues: "namespace/name", or "name" for a cluster-scoped object. */
export function getStoreKey({ metadata: { name, namespace } }: KubeObject): string {
  return namespace ? `${namespace}/${name}` : name;
}

/** Objects of one kind by key, with indexes. Objects are shared, not copied: never modify one. */
export class Store<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #indexes = new Map<string, { valuesOf: (object: T) => readonly string[]; keys: Map<string, Set<string>> }>();

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  /** Returns all objects in no particular order. */
  list(): T[] {
    return [...this.#objects.values()];
  }

  /** Indexes all current and future objects by the values that `valuesOf` returns. `valuesOf` must be pure. */
  addIndex(name: string, valuesOf: (object: T) => readonly string[]): void {
    const index = { valuesOf, keys: new Map<string, Set<string>>() };
    this.#indexes.set(name, index);
    for (const [key, object] of this.#objects) for (const value of valuesOf(object)) addTo(index.keys, value, key);
  }

  /** Returns the objects with `value` in an index. @throws Error if the index does not exist. */
  byIndex(name: string, value: string): T[] {
    const index = this.#indexes.get(name);
    if (!index) throw new Error(`index "${name}" does not exist`);
    return [...(index.keys.get(value) ?? [])].flatMap((key) => this.#objects.get(key) ?? []);
  }

  /** Stores an object. Returns undefined if the store already contains it at the same resourceVersion. */
  set(object: T): StoreEvent<T> | undefined {
    const key = getStoreKey(object);
    const old = this.#objects.get(key);
    const { resourceVersion, uid } = object.metadata;
    if (old && resourceVersion !== undefined && old.metadata.resourceVersion === resourceVersion && old.metadata.uid === uid)
      return undefined;
    if (old) this.#unindex(key, old);
    this.#objects.set(key, object);
    for (const { valuesOf, keys } of this.#indexes.values()) for (const value of valuesOf(object)) addTo(keys, value, key);
    return old ? { type: "update", object, old } : { type: "add", object };
  }

  /** Removes an object. The event contains its last known state, or `last` if given. */
  delete(key: string, last?: T): StoreEvent<T> | undefined {
    const old = this.#objects.get(key);
    if (!old) return undefined;
    this.#unindex(key, old);
    this.#objects.delete(key);
    return { type: "delete", object: last ?? old, old };
  }

  /** Replaces all objects. Returns a delete and an add for an object that was recreated with the same name. */
  replace(objects: readonly T[]): StoreEvent<T>[] {
    const keys = new Set(objects.map(getStoreKey));
    const gone = [...this.#objects.keys()].filter((key) => !keys.has(key)).map((key) => this.delete(key));
    return [...gone, ...objects.flatMap((object) => this.put(object))].filter((event) => event !== undefined);
  }

  /** Like `set`, but returns a delete first if the object was recreated with the same name. */
  put(object: T): StoreEvent<T>[] {
    const key = getStoreKey(object);
    const old = this.#objects.get(key);
    const deleted = old !== undefined && old.metadata.uid !== object.metadata.uid ? this.delete(key) : undefined;
    return [deleted, this.set(object)].filter((event) => event !== undefined);
  }

  #unindex(key: string, object: T): void {
    for (const { valuesOf, keys } of this.#indexes.values()) {
      for (const value of valuesOf(object)) {
        const indexed = keys.get(value);
        indexed?.delete(key);
        if (indexed?.size === 0) keys.delete(value);
      }
    }
  }
}

function addTo(keys: Map<string, Set<string>>, value: string, key: string): void {
  const indexed = keys.get(value);
  if (indexed) indexed.add(key);
  else keys.set(value, new Set([key]));
}

/** Client methods that an informer needs. */
export type ListerWatcher = Pick<Client, "list" | "watch">;

/** Options of an informer, in addition to the objects that it watches. */
export interface InformerOptions<T extends KubeObject> extends ListSelection {
  /** Transforms each object before it is stored, for example with `withoutBulk`. Must keep name, namespace, uid and resourceVersion. */
  transform?: (object: T) => T;
  /** Maximum delay between attempts while the API server does not respond or denies access. Default 30 s. */
  maxBackoffMs?: number;
  clock?: Clock;
  /** Called after each complete list, when the store contains its objects. */
  onList?: () => void;
  /** Called when the API server accepts a watch: from then on, the store follows all changes. */
  onOpen?: () => void;
  /** Called for each failure, before the delay and the retry. */
  onError?: (err: unknown, during: "list" | "watch") => void;
}

const BASE_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 30_000;
/** A watch that ends before this time without an event counts as failed, to avoid a busy loop. */
const SHORT_WATCH_MS = 1_000;
/** Time during which the same interruption is logged only once. */
const QUIET_MS = 300_000;
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/**
 * Returns `object` without managedFields and kubectl's last-applied annotation, which are often more than half of its
 * bytes.
 */
export function withoutBulk<T extends KubeObject>(object: T): T {
  const { managedFields: _managed, annotations, ...metadata } = object.metadata;
  if (annotations === undefined) return { ...object, metadata };
  const { [LAST_APPLIED]: _last, ...kept } = annotations;
  return { ...object, metadata: { ...metadata, annotations: kept } };
}

/**
 * Lists and watches the objects of one kind until it is stopped. Recovers from broken connections, API server restarts,
 * an expired resourceVersion and missing permissions. Keeps the last known objects meanwhile.
 */
export class Informer<T extends KubeObject = KubeObject> {
  /** Resolves after the first complete list; rejects with the signal's reason if `run` ends before. */
  readonly synced: Promise<void>;
  readonly #client: ListerWatcher;
  readonly #gvk: GroupVersionKind;
  readonly #selection: ListSelection;
  readonly #transform: (object: T) => T;
  readonly #backoff: Backoff;
  readonly #clock: Clock;
  readonly #onList: () => void;
  readonly #onOpen: () => void;
  readonly #onError: (err: unknown, during: "list" | "watch") => void;
  readonly #log: Logger;
  readonly #store = new Store<T>();
  readonly #handlers: ((event: StoreEvent<T>) => void)[] = [];
  readonly #sync = Promise.withResolvers<void>();
  readonly #interruptions: Repeats;
  #hasSynced = false;
  /** The resourceVersion at which to start the watch; undefined if the objects must be listed first. */
  #resourceVersion: string | undefined;

  constructor(client: ListerWatcher, gvk: GroupVersionKind, options: InformerOptions<T>, log: Logger) {
    const { transform, maxBackoffMs = MAX_BACKOFF_MS, clock = systemClock, onList, onOpen, onError, ...selection } = options;
    this.#client = client;
    this.#gvk = { apiVersion: gvk.apiVersion, kind: gvk.kind };
    this.#selection = selection;
    this.#transform = transform ?? ((object) => object);
    this.#backoff = new Backoff(BASE_BACKOFF_MS, maxBackoffMs);
    this.#clock = clock;
    this.#interruptions = new Repeats(clock, QUIET_MS);
    this.#onList = onList ?? (() => undefined);
    this.#onOpen = onOpen ?? (() => undefined);
    this.#onError = onError ?? (() => undefined);
    this.#log = log.child({ informer: gvk.kind });
    this.synced = this.#sync.promise;
    this.synced.catch(() => {});
  }

  /** Whether the first complete list has arrived; for readiness checks. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /**
   * Calls `handler` for every change from now on, and immediately with an add for each known object. Logs errors that
   * `handler` throws.
   */
  onEvent(handler: (event: StoreEvent<T>) => void): void {
    this.#handlers.push(handler);
    for (const object of this.#store.list()) this.#call(handler, { type: "add", object });
  }

  /** Returns the last known state of one object. Read-only, because it is shared. */
  get(name: string, namespace?: string): T | undefined {
    return this.#store.get(namespace ? `${namespace}/${name}` : name);
  }

  /** Returns the last known state of all objects. Read-only. */
  list(): T[] {
    return this.#store.list();
  }

  /** Adds an index for `byIndex(name, value)`. `valuesOf` returns the values of an object in the index. */
  addIndex(name: string, valuesOf: (object: T) => readonly string[]): void {
    this.#store.addIndex(name, valuesOf);
  }

  /** Returns the objects with one value in an index. */
  byIndex(name: string, value: string): T[] {
    return this.#store.byIndex(name, value);
  }

  /** Runs until `signal` aborts; never throws. Call it once. */
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
    const resourceVersion = this.#resourceVersion;
    const watch = this.#client.watch<T>(this.#gvk, { ...this.#selection, resourceVersion, opened: this.#onOpen, signal });
    let events = 0;
    for await (const event of watch) {
      events++;
      this.#backoff.reset();
      this.#handleEvent(event);
    }
    if (events === 0 && this.#clock.now() - started < SHORT_WATCH_MS) throw new Error("the server ended the watch immediately");
    this.#backoff.reset();
  }

  async #list(signal: AbortSignal): Promise<string> {
    const { items, resourceVersion } = await this.#client.list<T>(this.#gvk, { ...this.#selection, signal });
    for (const event of this.#store.replace(items.map(this.#transform))) this.#emit(event);
    if (!this.#hasSynced) this.#log.debug({ objects: items.length }, "informer synced");
    this.#hasSynced = true;
    this.#sync.resolve();
    this.#logResumed();
    this.#onList();
    return resourceVersion;
  }

  #handleEvent({ type, object }: WatchEvent<T>): void {
    this.#logResumed();
    if (type === "DELETED") {
      const event = this.#store.delete(getStoreKey(object), this.#transform(object));
      if (event) this.#emit(event);
    } else if (type !== "BOOKMARK") {
      for (const event of this.#store.put(this.#transform(object))) this.#emit(event);
    }
    this.#resourceVersion = object.metadata.resourceVersion ?? this.#resourceVersion;
  }

  /**
   * Waits after a failure, at least as long as the server requests, and decides how to continue:
   * - resourceVersion expired (410): lists again
   * - any other first failure: resumes the watch at the last resourceVersion
   * - further consecutive failures: lists again, because the server may have restarted with an older
   *   history
   */
  async #recoverFrom(err: unknown, signal: AbortSignal): Promise<void> {
    const retryInMs = Math.max(this.#backoff.next(), getRetryAfterMs(err) ?? 0);
    const first = this.#backoff.attempts === 1;
    this.#onError(err, this.#resourceVersion === undefined ? "list" : "watch");
    if (isExpired(err) || !first) this.#resourceVersion = undefined;
    const reason = getErrorMessage(err);
    const isUsual = first && !(err instanceof KubeError && !isExpired(err));
    const level = isUsual || this.#interruptions.report(reason) === undefined ? "debug" : "warn";
    this.#log[level]({ reason, attempt: this.#backoff.attempts, retryInMs }, "watch interrupted");
    await sleep(this.#clock, retryInMs, signal);
  }

  #logResumed(): void {
    if (!this.#interruptions.hasReported) return;
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
      this.#log.error({ err, object: getStoreKey(event.object), event: event.type }, "event handler failed");
    }
  }
}
