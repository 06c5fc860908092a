import type { KubeObject } from "../../pkg/api/k8s.ts";
import type { Lease, LeaseSpec } from "../../pkg/controller/lease.ts";
import { KubeError } from "../../pkg/kube/errors.ts";
import type { WatchEvent } from "../../pkg/kube/request.ts";

/** State of the API server: it responds, it responds with 500, or it does not respond. */
export type ServerState = "up" | "failing" | "hanging";
/** The connection between a process and the server. */
export interface Wire {
  /** Resolves once the process runs. */
  running(): Promise<void>;
}

/** One Lease in a fake API server, with versions, conflicts and watches. */
export class LeaseServer {
  state: ServerState = "up";
  lease: Lease | undefined;
  /** Method and holder of each accepted write. */
  readonly writes: string[] = [];
  #version = 0;
  readonly #watchers = new Set<(event: WatchEvent<Lease>) => void>();

  /** Writes like another client. */
  edit(spec: LeaseSpec): void {
    this.#put({ metadata: { annotations: this.lease?.metadata.annotations ?? {} }, spec: { ...this.lease?.spec, ...spec } }, "edit");
  }

  delete(): void {
    const gone = this.lease;
    this.lease = undefined;
    if (gone)
      this.#report({ type: "DELETED", object: { ...gone, metadata: { ...gone.metadata, resourceVersion: String(++this.#version) } } });
  }

  /** Returns the server for one process. */
  clientOf(wire: Wire) {
    const call = async <T>(signal: AbortSignal | undefined, work: () => T): Promise<T> => {
      await wire.running();
      await this.#answers(signal);
      const result = work();
      await Promise.resolve();
      await wire.running();
      return structuredClone(result);
    };
    return {
      get: <T extends KubeObject>(_ref: object, options: { signal?: AbortSignal | undefined } = {}) =>
        call(options.signal, () => this.lease as KubeObject as T | undefined),
      create: <T extends KubeObject>(lease: T, options: { signal?: AbortSignal | undefined } = {}) =>
        call(options.signal, () => {
          if (this.lease) throw new KubeError("leases already exists", { status: 409, reason: "AlreadyExists" });
          return this.#put(lease, "create") as KubeObject as T;
        }),
      replace: <T extends KubeObject>(lease: T, options: { signal?: AbortSignal | undefined } = {}) =>
        call(options.signal, () => {
          if (!this.lease) throw new KubeError("leases not found", { status: 404, reason: "NotFound" });
          if (lease.metadata.resourceVersion !== this.lease.metadata.resourceVersion)
            throw new KubeError("the object has been modified", { status: 409, reason: "Conflict" });
          return this.#put(lease, "replace") as KubeObject as T;
        }),
      watch: <T extends KubeObject>(_gvk: object, options: { signal?: AbortSignal | undefined; opened?: () => void }) =>
        this.#watch(wire, options) as AsyncGenerator<WatchEvent> as AsyncGenerator<WatchEvent<T>>,
    };
  }

  async *#watch(
    wire: Wire,
    { signal, opened }: { signal?: AbortSignal | undefined; opened?: () => void },
  ): AsyncGenerator<WatchEvent<Lease>> {
    const queue: WatchEvent<Lease>[] = [];
    let wake = Promise.withResolvers<void>();
    const take = (event: WatchEvent<Lease>): void => {
      queue.push(structuredClone(event));
      wake.resolve();
    };
    signal?.addEventListener("abort", () => wake.resolve(), { once: true });
    this.#watchers.add(take);
    opened?.();
    if (this.lease) take({ type: "ADDED", object: this.lease });
    try {
      for (;;) {
        await wire.running();
        if (signal?.aborted) return;
        const event = queue.shift();
        if (event) yield event;
        else {
          await wake.promise;
          wake = Promise.withResolvers();
        }
      }
    } finally {
      this.#watchers.delete(take);
    }
  }

  async #answers(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (this.state === "failing") throw new KubeError("etcdserver: request timed out", { status: 500, reason: "InternalError" });
    if (this.state === "hanging")
      await new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason as Error), { once: true }));
  }

  #put(
    { metadata: { annotations }, spec = {} }: Pick<Lease, "spec"> & { metadata: Pick<Lease["metadata"], "annotations"> },
    how: string,
  ): Lease {
    const type = this.lease ? "MODIFIED" : "ADDED";
    const metadata = {
      name: "lock",
      namespace: "system",
      resourceVersion: String(++this.#version),
      ...(annotations ? { annotations } : {}),
    };
    this.lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec };
    if (how !== "edit") this.writes.push(`${how} ${spec.holderIdentity ?? ""}`);
    this.#report({ type, object: this.lease });
    return this.lease;
  }

  #report(event: WatchEvent<Lease>): void {
    for (const watcher of this.#watchers) watcher(event);
  }
}
