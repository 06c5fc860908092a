import type { KubeObject } from "../api/k8s.ts";

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
