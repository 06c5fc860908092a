import type { GroupVersionKind, KubeObject, ObjectMeta } from "../../pkg/api/k8s.ts";
import type { ApiResource } from "../../pkg/kube/discovery.ts";
import { KindNotServed } from "../../pkg/kube/errors.ts";
import type { ListResult, WatchEvent, WatchOptions } from "../../pkg/kube/request.ts";

/** One kind of an API server in memory, for clients that list and watch it; a test sets its objects and failures. */
export class WatchedKind {
  served = true;
  /** The error of every call while it is set. */
  refusal: Error | undefined;
  /** Such as "discover", "list" and "watch", in order. */
  readonly calls: string[] = [];
  readonly #gvk: GroupVersionKind;
  readonly #objects = new Map<string, KubeObject>();
  readonly #watches = new Set<(event: WatchEvent | Error | undefined) => void>();
  #version = 0;

  constructor(gvk: GroupVersionKind) {
    this.#gvk = { apiVersion: gvk.apiVersion, kind: gvk.kind };
  }

  /** Creates or replaces an object, with a new resourceVersion. */
  put(object: { metadata: ObjectMeta; [member: string]: unknown }): KubeObject {
    const { name } = object.metadata;
    const type = this.#objects.has(name) ? "MODIFIED" : "ADDED";
    const stored: KubeObject = { ...object, ...this.#gvk, metadata: { uid: name, ...object.metadata, resourceVersion: this.#next() } };
    this.#objects.set(name, stored);
    this.#send({ type, object: stored });
    return stored;
  }

  remove(name: string): void {
    const object = this.#objects.get(name);
    this.#objects.delete(name);
    if (object) this.#send({ type: "DELETED", object: { ...object, metadata: { ...object.metadata, resourceVersion: this.#next() } } });
  }

  /** Ends every watch, with or without an error. */
  endWatches(err?: Error): void {
    for (const report of this.#watches) report(err);
  }

  async resourceFor(): Promise<ApiResource> {
    await this.#recordCall("discover");
    const { kind } = this.#gvk;
    return { group: "", version: "v1", resource: `${kind.toLowerCase()}s`, kind, namespaced: false, verbs: [] };
  }

  async list<T extends KubeObject>(): Promise<ListResult<T>> {
    await this.#recordCall("list");
    return { items: [...this.#objects.values()] as T[], resourceVersion: String(this.#version) };
  }

  async *watch<T extends KubeObject>(_gvk: GroupVersionKind, { signal }: WatchOptions): AsyncGenerator<WatchEvent<T>> {
    await this.#recordCall("watch");
    const pending: (WatchEvent | Error | undefined)[] = [];
    let wake = (): void => undefined;
    const report = (event: WatchEvent | Error | undefined): void => {
      pending.push(event);
      wake();
    };
    const stop = (): void => report(undefined);
    this.#watches.add(report);
    signal?.addEventListener("abort", stop);
    try {
      for (;;) {
        if (pending.length === 0) await new Promise<void>((resolve) => (wake = resolve));
        const event = pending.shift();
        if (event === undefined) return;
        if (event instanceof Error) throw event;
        yield event as WatchEvent<T>;
      }
    } finally {
      this.#watches.delete(report);
      signal?.removeEventListener("abort", stop);
    }
  }

  #recordCall(call: string): Promise<void> {
    this.calls.push(call);
    if (!this.served) return Promise.reject(new KindNotServed(this.#gvk.apiVersion, this.#gvk.kind));
    return this.refusal ? Promise.reject(this.refusal) : Promise.resolve();
  }

  #next(): string {
    return String(++this.#version);
  }

  #send(event: WatchEvent): void {
    for (const report of this.#watches) report(event);
  }
}

/** Waits until all work that only depends on promises is done. */
export async function flushPromises(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
}
