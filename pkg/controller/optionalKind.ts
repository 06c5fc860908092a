import type { GroupVersionKind, KubeObject } from "../api/k8s.ts";
import { Backoff } from "../async/backoff.ts";
import { type Clock, sleep, systemClock } from "../async/clock.ts";
import { getErrorMessage } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { isForbidden, KindNotServed } from "../kube/errors.ts";
import type { ListSelection } from "../kube/request.ts";
import type { Logger } from "../telemetry/log.ts";
import { Informer, withoutBulk } from "./informer.ts";

/** State of the objects of a kind that may not be served by the cluster. */
export type KindState<T extends KubeObject = KubeObject> =
  /** The API server has not responded yet; `reason` is the last error. */
  | { readonly kind: "unknown"; readonly reason?: string }
  | { readonly kind: "notServed" }
  | { readonly kind: "served"; readonly objects: readonly T[] }
  /** The API server denies access. */
  | { readonly kind: "unreadable"; readonly reason: string };

/** The client methods that OptionalKind needs. */
export type OptionalKindClient = Pick<Client, "list" | "watch" | "resourceFor">;

/** Options of OptionalKind. */
export interface OptionalKindOptions {
  /** Transforms each object before it is stored; default: `withoutBulk`. Must keep name, namespace, uid and resourceVersion. */
  transform?: (object: KubeObject) => KubeObject;
  /** Which objects to watch; default: all in the cluster. */
  selection?: ListSelection;
  log: Logger;
  clock?: Clock;
}

/** Interval for checking whether the kind is served, plus up to a third as jitter. */
const RECHECK_MS = 45_000;
/** Time for which a kind must be missing to count as not served. Longer than an API server needs to serve CRDs again after a restart. */
const CONFIRM_MS = 5_000;
/**
 * Number of consecutive denials to ignore for objects that were readable before, because an API server that has just
 * started denies all requests until it has loaded the roles.
 */
const IGNORED_REFUSALS = 3;
const BASE_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 30_000;

/**
 * Watches the objects of a kind. The kind may appear and disappear at any time: while it is not served, a small periodic request checks for it; once
 * it is served, a watch is open. Keeps the last known state while connections are broken.
 */
export class OptionalKind<T extends KubeObject = KubeObject> {
  readonly #client: OptionalKindClient;
  readonly #gvk: GroupVersionKind;
  readonly #selection: ListSelection;
  readonly #transform: (object: KubeObject) => KubeObject;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #handlers: (() => void)[] = [];
  #state: KindState<T> = { kind: "unknown" };
  /** Number of consecutive denials. */
  #refusals = 0;

  constructor(client: OptionalKindClient, { apiVersion, kind }: GroupVersionKind, options: OptionalKindOptions) {
    this.#client = client;
    this.#gvk = { apiVersion, kind };
    this.#selection = options.selection ?? {};
    this.#transform = options.transform ?? withoutBulk;
    this.#clock = options.clock ?? systemClock;
    this.#log = options.log;
  }

  get state(): KindState<T> {
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
        await this.#client.resourceFor(this.#gvk);
        backoff.reset();
        await this.#watchWhileServed(signal);
        await sleep(this.#clock, CONFIRM_MS, signal);
      } catch (err) {
        if (err instanceof KindNotServed) {
          backoff.reset();
          this.#set({ kind: "notServed" });
          await sleep(this.#clock, RECHECK_MS * (1 + Math.random() / 3), signal);
        } else {
          this.#handleError(err);
          await sleep(this.#clock, backoff.next(), signal);
        }
      }
    }
  }

  async #watchWhileServed(signal: AbortSignal): Promise<void> {
    const gone = new AbortController();
    const update = (): void => this.#set({ kind: "served", objects: informer.list() });
    const informer = new Informer<T>(
      this.#client,
      this.#gvk,
      {
        ...this.#selection,
        transform: (object) => this.#transform(object) as T,
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

  #set(state: KindState<T>): void {
    const before = this.#state;
    this.#state = state;
    if (state.kind !== "unreadable") this.#refusals = 0;
    if (!isSame(before, state)) for (const handler of this.#handlers) handler();
  }
}

/** Compares objects by resourceVersion. */
function isSame(before: KindState, after: KindState): boolean {
  if (before.kind === "served" && after.kind === "served") {
    const { objects } = before;
    return objects.length === after.objects.length && after.objects.every(({ metadata }, index) => isSameVersion(objects[index], metadata));
  }
  if (before.kind !== after.kind) return false;
  return !("reason" in after) || ("reason" in before && before.reason === after.reason);
}

function isSameVersion(object: KubeObject | undefined, { uid, resourceVersion }: KubeObject["metadata"]): boolean {
  return object?.metadata.uid === uid && object?.metadata.resourceVersion === resourceVersion;
}
