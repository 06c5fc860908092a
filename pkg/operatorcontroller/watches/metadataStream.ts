import { LABEL_OWNER_KIND, LABEL_OWNER_NAME } from "../../api/constants.ts";
import { type KubeObject, type ObjectRef } from "../../api/k8s.ts";
import { Backoff, type Repeats } from "../../async/backoff.ts";
import { type Clock, sleep } from "../../async/clock.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { getRetryAfterMs, isExpired, isForbidden } from "../../kube/errors.ts";
import type { ListSelection } from "../../kube/request.ts";
import { getObjectKey, isSecret } from "../../release/identity.ts";
import type { Logger } from "../../telemetry/log.ts";

/**
 * Objects that one stream watches: one object by name, or all objects of a kind with a label in one namespace or,
 * without a namespace, in all namespaces.
 */
export interface StreamSpec {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string | undefined;
  readonly name?: string;
  readonly labelSelector?: string;
}

/** The identity that watches, and what is known about its permissions. */
export interface PlanContext {
  readonly extension: string;
  /**
   * Whether the identity also watches objects of other extensions. If so, streams by label serve all of these
   * extensions.
   */
  readonly isShared: boolean;
  /** Whether this is the controller's own identity, which may watch all namespaces with one stream per kind. */
  readonly isController: boolean;
  /** Reports whether a stream by label was denied before. */
  isRefused(spec: StreamSpec): boolean;
}

/**
 * Returns the stream for each object, by objectKey: by label if that saves streams and was not denied, otherwise by
 * name. Secrets are always watched by name, because permission for one Secret must not reveal the names of others.
 */
export function planStreams(objects: readonly ObjectRef[], context: PlanContext): Map<string, StreamSpec> {
  const groups = Map.groupBy(objects, ({ apiVersion, kind, namespace }) => JSON.stringify([apiVersion, kind, namespace ?? ""]));
  const planned = new Map<string, StreamSpec>();
  for (const group of groups.values()) {
    for (const ref of group) {
      const byLabel = specByLabel(ref, context);
      const saves = group.length > 1 || context.isController;
      planned.set(getObjectKey(ref), saves && !isSecret(ref) && !context.isRefused(byLabel) ? byLabel : specByName(ref));
    }
  }
  return planned;
}

/** Returns a key for the streams of one identity. */
export function getStreamKey({ apiVersion, kind, namespace, name, labelSelector }: StreamSpec): string {
  return JSON.stringify([apiVersion, kind, namespace ?? "", name ?? "", labelSelector ?? ""]);
}

/** Describes the watched objects for messages, such as `ConfigMap "a" in namespace "b"`. */
export function describeSpec({ kind, name, namespace }: StreamSpec): string {
  const objects = name === undefined ? `${kind} objects` : `${kind} "${name}"`;
  return namespace ? `${objects} in namespace "${namespace}"` : objects;
}

function specByName({ apiVersion, kind, namespace, name }: ObjectRef): StreamSpec {
  return { apiVersion, kind, namespace, name };
}

function specByLabel({ apiVersion, kind, namespace }: ObjectRef, { extension, isShared, isController }: PlanContext): StreamSpec {
  const labelSelector = isShared || isController ? `${LABEL_OWNER_KIND}=ClusterExtension` : `${LABEL_OWNER_NAME}=${extension}`;
  return { apiVersion, kind, namespace: isController ? undefined : namespace, labelSelector };
}

/** Client methods that a stream needs. */
export type MetadataClient = Pick<Client, "list" | "watch">;

/** Receives the events of a stream. Objects contain only metadata. */
export interface StreamListener {
  /** Called with all objects at a resourceVersion, after a start and whenever events may have been missed. */
  onList(items: readonly KubeObject[], resourceVersion: string): void;
  onChange(object: KubeObject): void;
  onDelete(object: KubeObject): void;
  /** Called after a change of state. */
  onStateChange(state: StreamState, before: StreamState): void;
}

/**
 * starting: not connected yet; open: receives all events; broken: reconnecting; refused: the identity may not list or
 * watch.
 */
export type StreamState = { readonly kind: "starting" | "open" | "broken" } | { readonly kind: "refused"; readonly message: string };

/** Options that all streams share. */
export interface StreamOptions {
  readonly clock: Clock;
  /** Limits the number of streams that connect at once. */
  readonly gate: Semaphore;
  readonly log: Logger;
  /** Limits log lines: an unavailable API server interrupts all streams at once. */
  readonly interruptions: Repeats;
  /** Maximum delay in milliseconds between retries of a denied stream; the first ones come sooner. */
  readonly retryRefusedMs: number;
}

const BASE_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 60_000;
const REFUSED_BACKOFF_MS = 5_000;
/**
 * Number of consecutive denials that are ignored for a stream that was open before, because an API server that has just
 * started denies all requests until it has loaded the roles.
 */
const IGNORED_REFUSALS = 3;
/** A watch that ends within this time without an event counts as failed, to avoid a busy loop. */
const SHORT_WATCH_MS = 1_000;
/**
 * Timeout of a watch, in seconds. Longer than the five minutes of client-go, because each end of a watch costs a
 * request and there may be thousands of streams. Revoked permissions are noticed when a watch ends.
 */
const WATCH_SECONDS = 900;

/**
 * Watches the metadata of objects of one kind with one identity: a list, then watches until it is closed. Does not
 * store objects.
 */
export class MetadataStream {
  readonly #client: MetadataClient;
  readonly #spec: StreamSpec;
  readonly #listener: StreamListener;
  readonly #options: StreamOptions;
  readonly #backoff = new Backoff(BASE_BACKOFF_MS, MAX_BACKOFF_MS);
  readonly #refusedBackoff: Backoff;
  /** Aborts the current attempt with its requests and delays. */
  #attempt = new AbortController();
  #closed = false;
  #state: StreamState = { kind: "starting" };
  #wasOpen = false;
  /** Number of consecutive denials. */
  #refusals = 0;
  /** resourceVersion at which the watch starts; undefined if the objects must be listed first. */
  #resourceVersion: string | undefined;
  /**
   * Whether the watch continues an earlier watch. If so, its resourceVersion, taken from the last event, may have
   * expired.
   */
  #isResumed = false;

  constructor(client: MetadataClient, spec: StreamSpec, listener: StreamListener, options: StreamOptions) {
    this.#client = client;
    this.#spec = spec;
    this.#listener = listener;
    this.#options = options;
    this.#refusedBackoff = new Backoff(REFUSED_BACKOFF_MS, options.retryRefusedMs);
  }

  get state(): StreamState {
    return this.#state;
  }

  /** Runs until `close`; never throws. Call it once. */
  async run(): Promise<void> {
    while (!this.#closed) {
      const { signal } = (this.#attempt = new AbortController());
      try {
        await this.#follow(signal);
      } catch (err) {
        if (signal.aborted) continue;
        if (this.#isResumed && isExpired(err)) this.#resourceVersion = undefined;
        else await this.#recoverFrom(err, signal);
      }
    }
  }

  /** Lists again, for a listener that may have missed an event. */
  refresh(): void {
    this.#resourceVersion = undefined;
    this.#attempt.abort();
  }

  /** Closes the stream. The listener is not called afterwards. */
  close(): void {
    this.#closed = true;
    this.#attempt.abort();
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { gate, clock } = this.#options;
    const release = await gate.enter(signal);
    let events = 0;
    let openedAt: number | undefined;
    try {
      this.#isResumed = this.#resourceVersion !== undefined;
      const from = this.#resourceVersion ?? (await this.#list(signal));
      if (signal.aborted) return; // the list of an aborted attempt may be older than the event that caused the abort
      this.#resourceVersion = from;
      const opened = (): void => {
        release();
        openedAt = clock.now();
        this.#wasOpen = true;
        this.#refusals = 0;
        this.#refusedBackoff.reset();
        this.#setState({ kind: "open" });
      };
      const timeoutSeconds = Math.ceil(WATCH_SECONDS * (1 + Math.random()));
      // Without bookmarks: one bookmark per minute for thousands of streams would use 1 % of a core, but an expired
      // resourceVersion costs only one list.
      const options = { ...this.#selection, resourceVersion: from, bookmarks: false, timeoutSeconds, opened, signal };
      for await (const { type, object } of this.#client.watch(this.#spec, options)) {
        if (signal.aborted) return;
        events++;
        this.#backoff.reset();
        this.#resourceVersion = object.metadata.resourceVersion ?? this.#resourceVersion;
        if (type === "DELETED") this.#listener.onDelete(object);
        else this.#listener.onChange(object);
      }
    } finally {
      release();
    }
    if (signal.aborted) return;
    if (events === 0 && (openedAt === undefined || clock.now() - openedAt < SHORT_WATCH_MS))
      throw new Error("the API server ended the watch immediately");
    this.#backoff.reset();
  }

  async #list(signal: AbortSignal): Promise<string> {
    const { items, resourceVersion } = await this.#client.list(this.#spec, { ...this.#selection, signal });
    if (!signal.aborted) this.#listener.onList(items, resourceVersion);
    return resourceVersion;
  }

  get #selection(): ListSelection {
    const { namespace, name, labelSelector } = this.#spec;
    return { namespace, metadataOnly: true, ...(name === undefined ? { labelSelector } : { fieldSelector: `metadata.name=${name}` }) };
  }

  /**
   * Waits after a failure, at least as long as the server requests, and decides how to continue:
   * - denied (403): lists again, after seconds at first, later after minutes
   * - expired (410): lists again; a resumed watch does so immediately
   * - any other first failure: continues the watch where it broke
   * - later consecutive failures: lists again, because the server may have returned with an older history
   */
  async #recoverFrom(err: unknown, signal: AbortSignal): Promise<void> {
    const { clock, log, interruptions } = this.#options;
    this.#refusals = isForbidden(err) ? this.#refusals + 1 : 0;
    const refused = this.#refusals > (this.#wasOpen ? IGNORED_REFUSALS : 0);
    const retryInMs = Math.max((refused ? this.#refusedBackoff : this.#backoff).next(), getRetryAfterMs(err) ?? 0);
    const first = this.#backoff.attempts === 1;
    if (refused || isExpired(err) || !first) this.#resourceVersion = undefined;
    if (refused) this.#wasOpen = false;
    const suppressed = first || refused ? undefined : interruptions.report("");
    const level = suppressed === undefined ? "debug" : "warn";
    log[level](
      { reason: getErrorMessage(err), watching: describeSpec(this.#spec), attempt: this.#backoff.attempts, retryInMs, suppressed },
      "object watch interrupted",
    );
    this.#setState(refused ? { kind: "refused", message: getErrorMessage(err) } : { kind: "broken" });
    await sleep(clock, retryInMs, signal);
  }

  #setState(state: StreamState): void {
    if (this.#closed || this.#state.kind === state.kind) return;
    const before = this.#state;
    this.#state = state;
    this.#listener.onStateChange(state, before);
  }
}

/** Limits concurrency. Waiting callers are served in their order. */
export class Semaphore {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  /** @param places maximum number of concurrent holders. */
  constructor(places: number) {
    this.#free = places;
  }

  /**
   * Waits for a place. @returns a function that releases it; later calls have no effect.
   * @throws the signal's reason if it aborts first.
   */
  async enter(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free--;
    else await this.#wait(signal);
    let inside = true;
    return () => {
      if (!inside) return;
      inside = false;
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    };
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        signal.removeEventListener("abort", stop);
        resolve();
      };
      const stop = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1);
        reject(signal.reason as Error);
      };
      this.#waiting.push(enter);
      signal.addEventListener("abort", stop, { once: true });
    });
  }
}
