import type { GroupVersionKind, KubeObject, ObjectMeta } from "../../pkg/api/k8s.ts";
import type { ListOptions, ListResult, WatchEvent, WatchOptions } from "../../pkg/kube/request.ts";
import type { MetadataClient } from "../../pkg/operatorcontroller/watches/metadataStream.ts";
import { refusal } from "./extensionFakes.ts";

interface Follower {
  selects: (object: KubeObject) => boolean;
  /** Undefined ends the stream. */
  push: (event: WatchEvent | Error | undefined) => void;
}

/** Metadata of objects in memory that clients can list and watch as on an API server; a test changes it and breaks the streams. */
export class WatchedObjects implements MetadataClient {
  /** Requested lists and watches, such as "list ConfigMap metadata.name=a". */
  readonly calls: string[] = [];
  /** Rejects a list or watch, by its text. */
  refuses: (call: string) => boolean = () => false;
  /** The error of every list and watch. */
  failure: Error | undefined;
  readonly #objects = new Map<string, KubeObject>();
  readonly #followers = new Set<Follower>();
  #resourceVersion = 100;

  /** Number of open streams. */
  get open(): number {
    return this.#followers.size;
  }

  /** Creates or changes an object. @returns the object with its new resourceVersion. */
  put(object: KubeObject): KubeObject {
    const key = buildKey(object);
    const before = this.#objects.get(key);
    const metadata: ObjectMeta = {
      uid: before?.metadata.uid ?? `uid-${this.#resourceVersion}`,
      ...object.metadata,
      resourceVersion: String(++this.#resourceVersion),
    };
    const stored = { ...object, metadata };
    this.#objects.set(key, stored);
    this.#report({ type: before ? "MODIFIED" : "ADDED", object: stored });
    return stored;
  }

  delete(object: KubeObject): void {
    const stored = this.#objects.get(buildKey(object));
    if (!stored) throw new Error(`there is no ${buildKey(object)}`);
    this.#objects.delete(buildKey(object));
    this.#report({
      type: "DELETED",
      object: { ...stored, metadata: { ...stored.metadata, resourceVersion: String(++this.#resourceVersion) } },
    });
  }

  /** Ends all streams, with an error if one is given. */
  cut(err?: Error): void {
    for (const { push } of this.#followers) push(err);
  }

  list<T extends KubeObject>(gvk: GroupVersionKind, options: ListOptions = {}): Promise<ListResult<T>> {
    const err = this.#ask("list", gvk, options);
    if (err) return Promise.reject(err);
    const items = [...this.#objects.values()].filter(selection(gvk, options)) as T[];
    return Promise.resolve({ items, resourceVersion: String(this.#resourceVersion) });
  }

  async *watch<T extends KubeObject>(gvk: GroupVersionKind, options: WatchOptions): AsyncGenerator<WatchEvent<T>> {
    const err = this.#ask("watch", gvk, options);
    if (err) throw err;
    const queue: (WatchEvent | Error | undefined)[] = [];
    let wake: () => void = () => undefined;
    const push: Follower["push"] = (event) => {
      queue.push(event);
      wake();
    };
    const follower = { selects: selection(gvk, options), push };
    this.#followers.add(follower);
    options.signal?.addEventListener("abort", () => push(undefined), { once: true });
    options.opened?.();
    try {
      for (;;) {
        while (queue.length === 0) await new Promise<void>((resolve) => (wake = resolve));
        const next = queue.shift();
        if (next === undefined || options.signal?.aborted) return;
        if (next instanceof Error) throw next;
        yield next as WatchEvent<T>;
      }
    } finally {
      this.#followers.delete(follower);
    }
  }

  #ask(verb: string, { kind }: GroupVersionKind, { fieldSelector, labelSelector }: ListOptions | WatchOptions): Error | undefined {
    const call = `${verb} ${kind} ${fieldSelector ?? labelSelector}`;
    this.calls.push(call);
    if (this.failure) return this.failure;
    return this.refuses(call) ? refusal(403, "Forbidden", `cannot ${call}`) : undefined;
  }

  #report(event: WatchEvent): void {
    for (const { selects, push } of this.#followers) if (selects(event.object)) push(event);
  }
}

function buildKey({ kind, metadata }: KubeObject): string {
  return `${kind} ${metadata.namespace ?? ""}/${metadata.name}`;
}

function selection({ kind }: GroupVersionKind, { namespace, fieldSelector, labelSelector }: ListOptions | WatchOptions) {
  const name = fieldSelector?.replace("metadata.name=", "");
  const [label = "", value] = labelSelector?.split("=") ?? [];
  return ({ kind: theirs, metadata }: KubeObject): boolean =>
    theirs === kind &&
    (namespace === undefined || metadata.namespace === namespace) &&
    (name === undefined || metadata.name === name) &&
    (value === undefined || metadata.labels?.[label] === value);
}
