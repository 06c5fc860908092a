import { randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import { type KubeObject, toObjectRef } from "../api/k8s.ts";
import { getErrorMessage } from "../errors/errors.ts";
import { redactUserinfo } from "../text/redact.ts";
import { truncate } from "../text/truncate.ts";
import type { Client } from "./client.ts";
import { isNotFound } from "./errors.ts";

/** Something that happened to the object with this uid. */
export interface Occurrence {
  uid: string;
  type: string;
  reason: string;
  message: string;
}

/**
 * The write operation: creates an Event with count 1, or increments the count of the Event with the
 * same id.
 */
interface EventWrite {
  id: string;
  count: number;
  message: string;
  firstAt: number;
}

interface Similar {
  messages: Set<string>;
  since: number;
}

interface Budget {
  tokens: number;
  at: number;
}

const MAX_MESSAGE = 1024;
/** Maximum number of cached entries of each type; the least recently used are evicted first. */
const MAX_REMEMBERED = 4096;
/**
 * After this time, a repeated occurrence is a new event. @see k8s.io/client-go v0.36.3 tools/events
 * finishTime, 6 minutes
 */
const SERIES_MS = 600_000;
/**
 * After this many different messages for one object, type and reason within ten minutes, further
 * ones are combined into one event.
 */
const MAX_SIMILAR = 10;
const SIMILAR_MS = 600_000;
/** Limit for one object: a burst of 25 events, and one more every five minutes. */
const BURST = 25;
const REFILL_MS = 300_000;
const COMBINED = "(combined from similar events): ";

/**
 * Decides whether an occurrence creates an event, increments the count of an existing one, or is
 * dropped. Has no side effects except for its cache; the clock is a parameter.
 */
export class EventSeries {
  readonly #now: () => number;
  readonly #events: LRUCache<string, EventWrite>;
  readonly #similar: LRUCache<string, Similar>;
  readonly #budgets: LRUCache<string, Budget>;

  constructor(now: () => number) {
    this.#now = now;
    // Uses `maxSize`, because `max` would allocate all slots immediately.
    const common = { maxSize: MAX_REMEMBERED, sizeCalculation: () => 1, ttlAutopurge: true, ttlResolution: 0, perf: { now } };
    this.#events = new LRUCache({ ...common, ttl: SERIES_MS });
    this.#similar = new LRUCache({ ...common, ttl: SIMILAR_MS });
    this.#budgets = new LRUCache({ ...common, ttl: BURST * REFILL_MS });
  }

  /** Number of cached entries of all types. */
  get size(): number {
    return this.#events.size + this.#similar.size + this.#budgets.size;
  }

  /** Returns the write for an occurrence; undefined if its object has used up its budget. */
  next(occurrence: Occurrence): EventWrite | undefined {
    const now = this.#now();
    if (!this.#spend(occurrence.uid, now)) return undefined;
    const message = truncate(occurrence.message, MAX_MESSAGE);
    const group = [occurrence.uid, occurrence.type, occurrence.reason].join("\n");
    const combined = this.#isOneOfMany(group, message, now);
    const key = combined ? group : `${group}\n${message}`;
    const seen = this.#events.get(key);
    const text = combined ? truncate(COMBINED + message, MAX_MESSAGE) : message;
    const write = seen
      ? { ...seen, count: seen.count + 1, message: text }
      : { id: randomBytes(8).toString("hex"), count: 1, message: text, firstAt: now };
    this.#events.set(key, write);
    return write;
  }

  #spend(uid: string, now: number): boolean {
    const { tokens, at } = this.#budgets.get(uid) ?? { tokens: BURST, at: now };
    const left = Math.min(BURST, tokens + (now - at) / REFILL_MS);
    this.#budgets.set(uid, { tokens: left < 1 ? left : left - 1, at: now });
    return left >= 1;
  }

  #isOneOfMany(group: string, message: string, now: number): boolean {
    const held = this.#similar.get(group);
    const similar = held && now - held.since <= SIMILAR_MS ? held : { messages: new Set<string>(), since: now };
    if (similar.messages.size <= MAX_SIMILAR) similar.messages.add(message);
    this.#similar.set(group, similar);
    return similar.messages.size > MAX_SIMILAR;
  }
}

/** Type of an Event. @see k8s.io/api events/v1 Event */
export type EventType = "Normal" | "Warning";

/** The part of a logger that the recorder needs. */
export interface EventLog {
  debug(fields: object, message: string): void;
}

/** Options of EventRecorder. Tests set the clock. */
export interface EventRecorderOptions {
  /** Name of the source of the events, for example "operator-controller". */
  component: string;
  log: EventLog;
  now?: () => number;
}

/** Maximum number of pending events; more are dropped. */
const MAX_PENDING = 500;
const WRITE_TIMEOUT_MS = 10_000;

/**
 * Writes core/v1 Events. Increments the count of a repeated event, combines many similar events,
 * and limits the number of events for each object. Events of cluster-scoped objects are recorded in
 * namespace "default". A failed write is only logged; `record` never throws or waits.
 * @see k8s.io/client-go v0.36.3 tools/record/events_cache.go for the numbers
 */
export class EventRecorder {
  readonly #client: Client;
  readonly #component: string;
  readonly #log: EventLog;
  readonly #now: () => number;
  readonly #series: EventSeries;
  readonly #pending: (() => Promise<void>)[] = [];
  #working: Promise<void> | undefined;

  constructor(client: Client, { component, log, now = Date.now }: EventRecorderOptions) {
    this.#client = client;
    this.#component = component;
    this.#log = log;
    this.#now = now;
    this.#series = new EventSeries(now);
  }

  /**
   * Records an event of `object`. `reason` is CamelCase, `message` a sentence that is truncated at
   * 1,024 characters; users and passwords in URLs are removed.
   */
  record(object: KubeObject, type: EventType, reason: string, text: string): void {
    if (this.#pending.length >= MAX_PENDING) return;
    const message = redactUserinfo(text);
    const write = this.#series.next({ uid: object.metadata.uid ?? objectKey(object), type, reason, message });
    if (!write) return;
    this.#pending.push(() => this.#write(object, type, reason, write));
    this.#working ??= this.#work();
  }

  /** Resolves when all events recorded so far have been written or dropped. */
  async flush(): Promise<void> {
    await this.#working;
  }

  async #work(): Promise<void> {
    for (let next = this.#pending.shift(); next; next = this.#pending.shift()) await next();
    this.#working = undefined;
  }

  async #write(object: KubeObject, type: EventType, reason: string, write: EventWrite): Promise<void> {
    const signal = AbortSignal.timeout(WRITE_TIMEOUT_MS);
    try {
      if (write.count > 1 && (await this.#raiseCount(object, write, signal))) return;
      await this.#client.create(this.#eventFor(object, type, reason, write), { signal });
    } catch (err) {
      this.#log.debug({ object: objectKey(object), reason, error: getErrorMessage(err) }, "cannot write event");
    }
  }

  /** Returns false if the counted event has expired. */
  async #raiseCount(object: KubeObject, write: EventWrite, signal: AbortSignal): Promise<boolean> {
    const ref = { apiVersion: "v1", kind: "Event", name: eventName(object, write), namespace: getEventNamespace(object) };
    const body = { count: write.count, lastTimestamp: timestamp(this.#now()), message: write.message };
    try {
      await this.#client.patch(ref, body, { type: "merge", signal });
      return true;
    } catch (err) {
      if (isNotFound(err)) return false;
      throw err;
    }
  }

  #eventFor(object: KubeObject, type: EventType, reason: string, write: EventWrite): KubeObject {
    const { apiVersion, kind, name, namespace } = toObjectRef(object);
    const { uid, resourceVersion } = object.metadata;
    const at = timestamp(this.#now());
    return {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: eventName(object, write), namespace: getEventNamespace(object) },
      involvedObject: { apiVersion, kind, name, namespace, uid, resourceVersion },
      type,
      reason,
      message: write.message,
      source: { component: this.#component },
      reportingComponent: this.#component,
      reportingInstance: "",
      firstTimestamp: timestamp(write.firstAt),
      lastTimestamp: at,
      count: write.count,
    };
  }
}

function getEventNamespace(object: KubeObject): string {
  return object.metadata.namespace ?? "default";
}

function objectKey({ apiVersion, kind, metadata }: KubeObject): string {
  return `${apiVersion}/${kind}/${metadata.namespace ?? ""}/${metadata.name}`;
}

/** metav1.Time has whole seconds. */
function timestamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

function eventName(object: KubeObject, write: EventWrite): string {
  return `${object.metadata.name.slice(0, 200)}.${write.id}`;
}
