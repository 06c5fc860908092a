import type { KubeObject, ObjectRef } from "../api/k8s.ts";
import { Backoff } from "../async/backoff.ts";
import { type Clock, sleep, systemClock } from "../async/clock.ts";
import { messageOf } from "../errors/errors.ts";
import { canonicalJson } from "../golang/json.ts";
import type { Client } from "../kube/client.ts";
import { isForbidden, KindNotServed } from "../kube/errors.ts";
import type { Logger } from "../telemetry/log.ts";
import { Informer, withoutBulk } from "./informer.ts";

/** What is known of one object of a kind that a cluster need not have. */
export type ObjectState<T extends KubeObject = KubeObject> =
  /** The API server has not answered yet; `because` is what it failed with last. */
  | { readonly kind: "unknown"; readonly because?: string }
  | { readonly kind: "notServed" }
  | { readonly kind: "absent" }
  | { readonly kind: "present"; readonly object: T }
  /** The API server refuses to show it. */
  | { readonly kind: "unreadable"; readonly because: string };

/** How an object that may not exist is looked for. */
export interface OptionalObjectOptions {
  log: Logger;
  clock?: Clock;
  /** How often a kind that is not served is looked for, with up to a third of jitter. Default 45 s. */
  recheckMs?: number;
}

const RECHECK_MS = 45_000;
/** A kind that was served must be missing for longer than an API server needs to serve its CRDs again after a restart. */
const CONFIRM_MS = 5_000;
/** An API server that has just started refuses everything until it knows the roles: so often in a row that is not believed of what was readable. */
const DOUBTED_REFUSALS = 3;
const BASE_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 30_000;

/**
 * Follows one cluster-scoped object by name. The kind may appear and go at any time: while it is not served one small request asks for it
 * now and then, once it is there is a watch. What it was told last stays true while connections are broken.
 */
export class OptionalObject<T extends KubeObject = KubeObject> {
  readonly #client: Pick<Client, "list" | "watch" | "resourceFor">;
  readonly #ref: ObjectRef;
  readonly #clock: Clock;
  readonly #recheckMs: number;
  readonly #log: Logger;
  readonly #handlers: (() => void)[] = [];
  #state: ObjectState<T> = { kind: "unknown" };
  /** In a row. */
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

  /** Follows until `signal` aborts; never throws. Call once. */
  async run(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(BASE_BACKOFF_MS, MAX_BACKOFF_MS);
    while (!signal.aborted) {
      try {
        await this.#client.resourceFor(this.#ref);
        backoff.reset();
        await this.#followWhileServed(signal);
        await sleep(this.#clock, CONFIRM_MS, signal);
      } catch (err) {
        if (err instanceof KindNotServed) {
          backoff.reset();
          this.#set({ kind: "notServed" });
          await sleep(this.#clock, this.#recheckMs * (1 + Math.random() / 3), signal);
        } else {
          this.#failed(err);
          await sleep(this.#clock, backoff.next(), signal);
        }
      }
    }
  }

  async #followWhileServed(signal: AbortSignal): Promise<void> {
    const { name } = this.#ref;
    const gone = new AbortController();
    const look = (): void => {
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
        listed: look,
        failed: (err, during) => {
          if (err instanceof KindNotServed) gone.abort();
          else if (during === "list") this.#failed(err);
        },
      },
      this.#log,
    );
    informer.onEvent(() => {
      if (informer.hasSynced) look();
    });
    await informer.run(AbortSignal.any([signal, gone.signal]));
  }

  /** Only refusals, and more of them than a start of the API server explains, make what was known before worthless. */
  #failed(err: unknown): void {
    const because = messageOf(err);
    this.#refusals = isForbidden(err) ? this.#refusals + 1 : 0;
    const isKnown = this.#state.kind !== "unknown" && this.#state.kind !== "unreadable";
    if (isKnown && this.#refusals <= DOUBTED_REFUSALS) return;
    if (isForbidden(err)) this.#set({ kind: "unreadable", because });
    else if (this.#state.kind === "unknown") this.#set({ kind: "unknown", because });
  }

  #set(state: ObjectState<T>): void {
    const before = this.#state;
    this.#state = state;
    if (state.kind !== "unreadable") this.#refusals = 0;
    const same =
      before.kind === state.kind &&
      (state.kind !== "present" ||
        (before.kind === "present" && before.object.metadata.resourceVersion === state.object.metadata.resourceVersion)) &&
      (!("because" in state) || ("because" in before && before.because === state.because));
    if (!same) for (const handler of this.#handlers) handler();
  }
}

/** What is read of a setting of the cluster, whoever reads it. */
export interface SettingReader<T> {
  /** As last seen. */
  current(): T;
  /** Calls `handler` after every change of `current`. */
  onChange(handler: () => void): void;
  /** Resolves when `current` is an answer of the API server, or when there was none for some seconds. */
  readonly synced: Promise<void>;
}

/** Which object holds a setting, and how it is read. */
export interface OptionalSettingOptions<T> {
  client: Pick<Client, "list" | "watch" | "resourceFor">;
  /** The object that holds the setting. */
  ref: ObjectRef;
  /** What the state of that object says. */
  from: (state: ObjectState) => T;
  /** The setting for a line of the log, without secrets. */
  describe: (setting: T) => string;
  log: Logger;
  clock?: Clock;
}

/** For so long nothing goes on without an answer; then the setting is what `from` makes of not knowing. */
const ANSWER_MS = 10_000;

/** A setting that one object of the cluster holds, of a kind that it need not have; followed for as long as it runs. */
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
    this.#object.onChange(() => this.#look());
  }

  current(): T {
    return this.#current;
  }

  onChange(handler: () => void): void {
    this.#handlers.push(handler);
  }

  /** Follows until `signal` aborts; never throws. Call once. */
  async run(signal: AbortSignal): Promise<void> {
    const stopWaiting = this.#clock.after(ANSWER_MS, () => {
      if (this.#object.state.kind === "unknown") this.#log.warn({ reason: this.#text }, "cluster setting not known, going on without it");
      this.#sync.resolve();
    });
    await this.#object.run(signal);
    stopWaiting();
    this.#sync.resolve();
  }

  #look(): void {
    const { state } = this.#object;
    const before = canonicalJson(this.#current);
    this.#current = this.#options.from(state);
    const changed = canonicalJson(this.#current) !== before;
    if (changed && state.kind !== "unknown") this.#log.info({ value: this.#text }, "cluster setting");
    if (state.kind !== "unknown") this.#sync.resolve();
    if (changed) for (const handler of this.#handlers) handler();
  }

  get #text(): string {
    return this.#options.describe(this.#current);
  }
}
