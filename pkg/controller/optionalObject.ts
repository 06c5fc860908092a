import type { KubeObject, ObjectRef } from "../api/k8s.ts";
import { type Clock, systemClock } from "../async/clock.ts";
import { encodeCanonicalJson } from "../golang/json.ts";
import type { Client } from "../kube/client.ts";
import type { Logger } from "../telemetry/log.ts";
import { OptionalKind, type OptionalKindClient, type OptionalKindOptions } from "./optionalKind.ts";

/** State of an object whose kind may not be served by the cluster. */
export type ObjectState<T extends KubeObject = KubeObject> =
  /** The API server has not responded yet; `reason` is the last error. */
  | { readonly kind: "unknown"; readonly reason?: string }
  | { readonly kind: "notServed" }
  | { readonly kind: "absent" }
  | { readonly kind: "present"; readonly object: T }
  /** The API server denies access. */
  | { readonly kind: "unreadable"; readonly reason: string };

/**
 * Watches one object by name. Its kind may appear and disappear at any time. Keeps the last known state while connections are broken; see
 * `OptionalKind`.
 */
export class OptionalObject<T extends KubeObject = KubeObject> {
  readonly #objects: OptionalKind<T>;

  constructor(client: OptionalKindClient, ref: ObjectRef, options: OptionalKindOptions) {
    const { name, namespace } = ref;
    const selection = { fieldSelector: `metadata.name=${name}`, ...(namespace === undefined ? {} : { namespace }) };
    this.#objects = new OptionalKind<T>(client, ref, { ...options, selection });
  }

  get state(): ObjectState<T> {
    const { state } = this.#objects;
    if (state.kind !== "served") return state;
    const [object] = state.objects;
    return object ? { kind: "present", object } : { kind: "absent" };
  }

  /** Calls `handler` after every change of `state`. */
  onChange(handler: () => void): void {
    this.#objects.onChange(handler);
  }

  /** Runs until `signal` aborts; never throws. Call it once. */
  run(signal: AbortSignal): Promise<void> {
    return this.#objects.run(signal);
  }
}

/** A cluster-wide setting. */
export interface SettingReader<T> {
  /** Returns the last known value. */
  current(): T;
  /** Calls `handler` after every change of `current`. */
  onChange(handler: () => void): void;
  /** Resolves when `current` is based on a response from the API server, or after some seconds without a response. */
  readonly synced: Promise<void>;
}

/** Options of OptionalSetting. */
export interface OptionalSettingOptions<T> {
  client: Pick<Client, "list" | "watch" | "resourceFor">;
  /** The object that contains the setting. */
  ref: ObjectRef;
  /** Returns the setting for a state of the object. */
  from: (state: ObjectState) => T;
  /** Formats the setting for a log line, without secrets. */
  describe: (setting: T) => string;
  log: Logger;
  clock?: Clock;
}

/** Maximum wait for a response. After that, the setting is the value of `from` for an unknown state. */
const ANSWER_MS = 10_000;

/** A cluster-wide setting from an object whose kind may not be served by the cluster. Follows changes of the object. */
export class OptionalSetting<T> implements SettingReader<T> {
  readonly synced: Promise<void>;
  readonly #object: OptionalObject;
  readonly #options: OptionalSettingOptions<T>;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #handlers: (() => void)[] = [];
  readonly #sync = Promise.withResolvers<void>();
  #current: T;

  constructor(options: OptionalSettingOptions<T>) {
    const { client, ref, from, log, clock = systemClock } = options;
    this.#options = options;
    this.#clock = clock;
    this.#log = log.child({ setting: `${ref.kind} ${ref.name}` });
    this.#object = new OptionalObject(client, ref, { log, clock });
    this.#current = from(this.#object.state);
    this.synced = this.#sync.promise;
    this.#object.onChange(() => this.#update());
  }

  current(): T {
    return this.#current;
  }

  onChange(handler: () => void): void {
    this.#handlers.push(handler);
  }

  /** Runs until `signal` aborts; never throws. Call it once. */
  async run(signal: AbortSignal): Promise<void> {
    const stopWaiting = this.#clock.after(ANSWER_MS, () => {
      if (this.#object.state.kind === "unknown")
        this.#log.warn({ reason: this.#text }, "cluster setting could not be read yet, continuing without it");
      this.#sync.resolve();
    });
    await this.#object.run(signal);
    stopWaiting();
    this.#sync.resolve();
  }

  #update(): void {
    const { state } = this.#object;
    const before = encodeCanonicalJson(this.#current);
    this.#current = this.#options.from(state);
    const changed = encodeCanonicalJson(this.#current) !== before;
    if (changed && state.kind !== "unknown") this.#log.info({ value: this.#text }, "cluster setting");
    if (state.kind !== "unknown") this.#sync.resolve();
    if (changed) for (const handler of this.#handlers) handler();
  }

  get #text(): string {
    return this.#options.describe(this.#current);
  }
}
