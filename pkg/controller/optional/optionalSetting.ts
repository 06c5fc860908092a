import type { ObjectRef } from "../../api/k8s.ts";
import { type Clock, systemClock } from "../../async/clock.ts";
import { canonicalJson } from "../../golang/json.ts";
import type { Client } from "../../kube/client.ts";
import type { Logger } from "../../telemetry/log.ts";
import { type ObjectState, OptionalObject } from "./optionalObject.ts";

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
