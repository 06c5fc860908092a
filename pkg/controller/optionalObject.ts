import type { KubeObject, ObjectRef } from "../api/k8s.ts";
import { Backoff } from "../async/backoff.ts";
import { type Clock, sleep, systemClock } from "../async/clock.ts";
import { getErrorMessage } from "../errors/errors.ts";
import { encodeCanonicalJson } from "../golang/json.ts";
import type { Client } from "../kube/client.ts";
import { isForbidden, KindNotServed } from "../kube/errors.ts";
import type { Logger } from "../telemetry/log.ts";
import { Informer, withoutBulk } from "./informer.ts";

/** State of an object whose kind may not be served by the cluster. */
export type ObjectState<T extends KubeObject = KubeObject> =
  /** The API server has not responded yet; `because` is the last error. */
  | { readonly kind: "unknown"; readonly reason?: string }
  | { readonly kind: "notServed" }
  | { readonly kind: "absent" }
  | { readonly kind: "present"; readonly object: T }
  /** The API server denies access. */
  | { readonly kind: "unreadable"; readonly reason: string };

/** Options of OptionalObject. */
export interface OptionalObjectOptions {
  log: Logger;
  clock?: Clock;
  /** Interval for checking whether the kind is served, plus up to a third as jitter. Default 45 s. */
  recheckMs?: number;
}

const RECHECK_MS = 45_000;
/** Time for which a kind must be missing to count as not served. Longer than an API server needs to serve CRDs again after a restart. */
const CONFIRM_MS = 5_000;
/**
 * Number of consecutive denials to ignore for an object that was readable before, because an API server that has just
 * started denies all requests until it has loaded the roles.
 */
const IGNORED_REFUSALS = 3;
const BASE_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 30_000;

/**
 * Watches one cluster-scoped object by name. Its kind may appear and disappear at any time: while the kind is not
 * served, a small periodic request checks for it; once it is served, a watch is open. Keeps the last known state while
 * connections are broken.
 */
export class OptionalObject<T extends KubeObject = KubeObject> {
  readonly #client: Pick<Client, "list" | "watch" | "resourceFor">;
  readonly #ref: ObjectRef;
  readonly #clock: Clock;
  readonly #recheckMs: number;
  readonly #log: Logger;
  readonly #handlers: (() => void)[] = [];
  #state: ObjectState<T> = { kind: "unknown" };
  /** Number of consecutive denials. */
  #refusals = 0;

  constructor(client: Pick<Client, "list" | "watch" | "resourceFor">, ref: ObjectRef, options: OptionalObjectOptions) {
    this.#client = client;
    this.#ref = ref;
    this.#clock = options.clock ?? systemClock;
    this.#recheckMs = options.recheckMs ?? RECHECK_MS;
    this.#log = options.log;
  }

  get state(): ObjectState<T> {
    return this.#state;
  }

  /** Calls `handler` after every change of `state`. */
  onChange(handler: () => void): void {
    this.#handlers.push(handler);
  }

  /** Runs until `signal` aborts; never throws. Call it once. */
  async run(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(BASE_BACKOFF_MS, MAX_BACKOFF_MS);
    while (!signal.aborted) {
      try {
        await this.#client.resourceFor(this.#ref);
        backoff.reset();
        await this.#watchWhileServed(signal);
        await sleep(this.#clock, CONFIRM_MS, signal);
      } catch (err) {
        if (err instanceof KindNotServed) {
          backoff.reset();
          this.#set({ kind: "notServed" });
          await sleep(this.#clock, this.#recheckMs * (1 + Math.random() / 3), signal);
        } else {
          this.#handleError(err);
          await sleep(this.#clock, backoff.next(), signal);
        }
      }
    }
  }

  async #watchWhileServed(signal: AbortSignal): Promise<void> {
    const { name } = this.#ref;
    const gone = new AbortController();
    const update = (): void => {
      const object = informer.get(name);
      this.#set(object ? { kind: "present", object } : { kind: "absent" });
    };
    const informer = new Informer<T>(
      this.#client,
      this.#ref,
      {
        fieldSelector: `metadata.name=${name}`,
        transform: withoutBulk,
        clock: this.#clock,
        onList: update,
        onError: (err, during) => {
          if (err instanceof KindNotServed) gone.abort();
          else if (during === "list") this.#handleError(err);
        },
      },
      this.#log,
    );
    informer.onEvent(() => {
      if (informer.hasSynced) update();
    });
    await informer.run(AbortSignal.any([signal, gone.signal]));
  }

  /**
   * Handles an error. Only denials discard the known state, and only if there are more denials than after an API server
   * start.
   */
  #handleError(err: unknown): void {
    const reason = getErrorMessage(err);
    this.#refusals = isForbidden(err) ? this.#refusals + 1 : 0;
    const isKnown = this.#state.kind !== "unknown" && this.#state.kind !== "unreadable";
    if (isKnown && this.#refusals <= IGNORED_REFUSALS) return;
    if (isForbidden(err)) this.#set({ kind: "unreadable", reason });
    else if (this.#state.kind === "unknown") this.#set({ kind: "unknown", reason });
  }

  #set(state: ObjectState<T>): void {
    const before = this.#state;
    this.#state = state;
    if (state.kind !== "unreadable") this.#refusals = 0;
    const same =
      before.kind === state.kind &&
      (state.kind !== "present" ||
        (before.kind === "present" && before.object.metadata.resourceVersion === state.object.metadata.resourceVersion)) &&
      (!("reason" in state) || ("reason" in before && before.reason === state.reason));
    if (!same) for (const handler of this.#handlers) handler();
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
