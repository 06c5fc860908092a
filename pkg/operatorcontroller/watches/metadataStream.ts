import { LABEL_OWNER_KIND, LABEL_OWNER_NAME } from "../../api/constants.ts";
import { groupOf, type KubeObject, type ObjectRef } from "../../api/k8s.ts";
import { Backoff, type Repeats } from "../../async/backoff.ts";
import { type Clock, sleep } from "../../async/clock.ts";
import { messageOf } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { isExpired, isForbidden, retryAfterMsOf } from "../../kube/errors.ts";
import type { Selection } from "../../kube/request.ts";
import { objectKey } from "../../release/identity.ts";
import type { Logger } from "../../telemetry/log.ts";

/** What one stream follows: one object by its name, or all marked objects of a kind in a namespace (without one: everywhere). */
export interface StreamSpec {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string | undefined;
  readonly name?: string;
  readonly labelSelector?: string;
}

/** On whose behalf objects are watched, and what is known about that identity. */
export interface PlanContext {
  readonly extension: string;
  /** Other extensions are watched by the same identity: streams by label serve all of them. */
  readonly isShared: boolean;
  /** The controller's own identity, which may look at many namespaces: one stream a kind. */
  readonly isController: boolean;
  /** Whether a stream by label was refused before. */
  isRefused(spec: StreamSpec): boolean;
}

/**
 * The stream that follows each object, by objectKey. By label where that saves streams and has not been refused, by name otherwise; Secrets
 * always by name, so that a right on one never shows the names of others.
 */
export function planStreams(objects: readonly ObjectRef[], context: PlanContext): Map<string, StreamSpec> {
  const groups = Map.groupBy(objects, ({ apiVersion, kind, namespace }) => JSON.stringify([apiVersion, kind, namespace ?? ""]));
  const planned = new Map<string, StreamSpec>();
  for (const group of groups.values()) {
    for (const ref of group) {
      const byLabel = specByLabel(ref, context);
      const saves = group.length > 1 || context.isController;
      planned.set(objectKey(ref), saves && !isSecret(ref) && !context.isRefused(byLabel) ? byLabel : specByName(ref));
    }
  }
  return planned;
}

/** One text for one stream of one identity. */
export function streamKey({ apiVersion, kind, namespace, name, labelSelector }: StreamSpec): string {
  return JSON.stringify([apiVersion, kind, namespace ?? "", name ?? "", labelSelector ?? ""]);
}

/** What the spec is about, for messages: `configmaps "a" in namespace "b"` in terms of kinds. */
export function describeSpec({ kind, name, namespace }: StreamSpec): string {
  const what = name === undefined ? `objects of kind ${kind}` : `${kind} "${name}"`;
  return namespace ? `${what} in namespace "${namespace}"` : what;
}

function specByName({ apiVersion, kind, namespace, name }: ObjectRef): StreamSpec {
  return { apiVersion, kind, namespace, name };
}

function specByLabel({ apiVersion, kind, namespace }: ObjectRef, { extension, isShared, isController }: PlanContext): StreamSpec {
  const labelSelector = isShared || isController ? `${LABEL_OWNER_KIND}=ClusterExtension` : `${LABEL_OWNER_NAME}=${extension}`;
  return { apiVersion, kind, namespace: isController ? undefined : namespace, labelSelector };
}

function isSecret({ apiVersion, kind }: ObjectRef): boolean {
  return kind === "Secret" && groupOf(apiVersion) === "";
}

/** What a stream needs of a client. */
export type MetadataClient = Pick<Client, "list" | "watch">;

/** What a stream tells, of objects with nothing but their metadata. */
export interface StreamListener {
  /** Everything that there is at a resourceVersion; after a start, and whenever events may have been missed. */
  listed(items: readonly KubeObject[], resourceVersion: string): void;
  changed(object: KubeObject): void;
  deleted(object: KubeObject): void;
  /** The state is another than before. */
  turned(state: StreamState, before: StreamState): void;
}

/** starting: not connected yet; open: nothing is missed; broken: is being connected again; refused: the identity may not list or watch. */
export type StreamState = { readonly kind: "starting" | "open" | "broken" } | { readonly kind: "refused"; readonly message: string };

/** What streams share. */
export interface StreamOptions {
  readonly clock: Clock;
  /** Lets few connect at once. */
  readonly gate: Semaphore;
  readonly log: Logger;
  /** An API server that is away interrupts all streams at once, of which one speaks for the others. */
  readonly interruptions: Repeats;
  /** How often at least a refused stream is tried again, in milliseconds; at first it is sooner. */
  readonly retryRefusedMs: number;
}

const BASE_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 60_000;
const REFUSED_BACKOFF_MS = 5_000;
/** An API server that has just started refuses everything until it knows the roles: so often in a row that is not believed of a right that was there. */
const DOUBTED_REFUSALS = 3;
/** A watch that ends sooner without an event counts as a failure, or the loop would spin. */
const SHORT_WATCH_MS = 1_000;
/** Longer than client-go's five minutes: there may be thousands, and each end costs a request. Withdrawn rights show as late as this. */
const WATCH_SECONDS = 900;

/** Follows the metadata of some objects of one kind with one identity: a list, then watches, until it is closed. It keeps no objects. */
export class MetadataStream {
  readonly #client: MetadataClient;
  readonly #spec: StreamSpec;
  readonly #listener: StreamListener;
  readonly #options: StreamOptions;
  readonly #backoff = new Backoff(BASE_BACKOFF_MS, MAX_BACKOFF_MS);
  readonly #refusedBackoff: Backoff;
  /** Ends the attempt that is under way, with its requests and pauses. */
  #attempt = new AbortController();
  #closed = false;
  #state: StreamState = { kind: "starting" };
  #wasOpen = false;
  /** Refusals in a row. */
  #refusals = 0;
  /** Where to watch from; undefined when a list must come first. */
  #resourceVersion: string | undefined;
  /** The watch begins where an earlier one ended. Its resourceVersion may have expired: without bookmarks it is that of the last change. */
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

  /** Follows until `close`; never throws. Call once. */
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

  /** Lists anew, for a listener that may have missed something. */
  refresh(): void {
    this.#resourceVersion = undefined;
    this.#attempt.abort();
  }

  /** Ends the stream; nothing is told any more. */
  close(): void {
    this.#closed = true;
    this.#attempt.abort();
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { gate, clock } = this.#options;
    const leave = await gate.enter(signal);
    let events = 0;
    let openedAt: number | undefined;
    try {
      this.#isResumed = this.#resourceVersion !== undefined;
      const from = this.#resourceVersion ?? (await this.#list(signal));
      if (signal.aborted) return; // what an attempt that was given up has read may be older than what it was given up for
      this.#resourceVersion = from;
      const opened = (): void => {
        leave();
        openedAt = clock.now();
        this.#wasOpen = true;
        this.#refusals = 0;
        this.#refusedBackoff.reset();
        this.#turn({ kind: "open" });
      };
      const timeoutSeconds = Math.ceil(WATCH_SECONDS * (1 + Math.random()));
      // A bookmark a minute for each of thousands of streams takes 1 % of a core; an expired resourceVersion takes one more list.
      const options = { ...this.#selection, resourceVersion: from, bookmarks: false, timeoutSeconds, opened, signal };
      for await (const { type, object } of this.#client.watch(this.#spec, options)) {
        if (signal.aborted) return;
        events++;
        this.#backoff.reset();
        this.#resourceVersion = object.metadata.resourceVersion ?? this.#resourceVersion;
        if (type === "DELETED") this.#listener.deleted(object);
        else this.#listener.changed(object);
      }
    } finally {
      leave();
    }
    if (signal.aborted) return;
    if (events === 0 && (openedAt === undefined || clock.now() - openedAt < SHORT_WATCH_MS))
      throw new Error("the server ended the watch at once");
    this.#backoff.reset();
  }

  async #list(signal: AbortSignal): Promise<string> {
    const { items, resourceVersion } = await this.#client.list(this.#spec, { ...this.#selection, signal });
    if (!signal.aborted) this.#listener.listed(items, resourceVersion);
    return resourceVersion;
  }

  get #selection(): Selection {
    const { namespace, name, labelSelector } = this.#spec;
    return { namespace, metadataOnly: true, ...(name === undefined ? { labelSelector } : { fieldSelector: `metadata.name=${name}` }) };
  }

  /**
   * Decides where to go on, and waits, not for less than the server asked for.
   * refused (403)                    list again, after seconds at first, later minutes
   * expired (410)                    list again; a resumed watch does so at once
   * first failure, any other         watch on from where the stream broke
   * second and later ones in a row   list again: after a long absence the server may even be one with an older history
   */
  async #recoverFrom(err: unknown, signal: AbortSignal): Promise<void> {
    const { clock, log, interruptions } = this.#options;
    this.#refusals = isForbidden(err) ? this.#refusals + 1 : 0;
    const refused = this.#refusals > (this.#wasOpen ? DOUBTED_REFUSALS : 0);
    const retryInMs = Math.max((refused ? this.#refusedBackoff : this.#backoff).next(), retryAfterMsOf(err) ?? 0);
    const first = this.#backoff.attempts === 1;
    if (refused || isExpired(err) || !first) this.#resourceVersion = undefined;
    if (refused) this.#wasOpen = false;
    const untold = first || refused ? undefined : interruptions.tell("");
    const level = untold === undefined ? "debug" : "warn";
    log[level](
      { reason: messageOf(err), watching: describeSpec(this.#spec), attempt: this.#backoff.attempts, retryInMs, untold },
      "watch of objects interrupted",
    );
    this.#turn(refused ? { kind: "refused", message: messageOf(err) } : { kind: "broken" });
    await sleep(clock, retryInMs, signal);
  }

  #turn(state: StreamState): void {
    if (this.#closed || this.#state.kind === state.kind) return;
    const before = this.#state;
    this.#state = state;
    this.#listener.turned(state, before);
  }
}

/** Lets a number of visitors in at once; the others wait in the order in which they came. */
export class Semaphore {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  /** @param places how many may be inside at once. */
  constructor(places: number) {
    this.#free = places;
  }

  /**
   * Waits for a place. @returns what gives it back; calling that again does nothing.
   * @throws the signal's reason when it aborts before.
   */
  async enter(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free--;
    else await this.#turn(signal);
    let inside = true;
    return () => {
      if (!inside) return;
      inside = false;
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    };
  }

  #turn(signal: AbortSignal): Promise<void> {
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
