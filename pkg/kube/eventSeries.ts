import { randomBytes } from "node:crypto";

/** Something that happened to the object with this uid. */
export interface Occurrence {
  uid: string;
  type: string;
  reason: string;
  message: string;
}

/** What to write: a new Event (count 1), or a higher count of the one with the same id. */
export interface EventWrite {
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
/** Things remembered of each sort; the longest unused ones are forgotten first. */
const MAX_REMEMBERED = 4096;
/** What happens again later than that is an event of its own. @see k8s.io/client-go tools/events finishTime, 6 minutes */
const SERIES_MS = 600_000;
/** After this many different messages of one object, type and reason within ten minutes, the rest is one event. */
const MAX_SIMILAR = 10;
const SIMILAR_MS = 600_000;
/** An object may have 25 events at once, and one more every five minutes. */
const BURST = 25;
const REFILL_MS = 300_000;
const COMBINED = "(combined from similar events): ";

/** Decides which occurrences become events, which only raise a count, and which are too many. Pure but for its memory; the clock is passed in. */
export class EventSeries {
  readonly #now: () => number;
  readonly #events = new Recent<EventWrite>(SERIES_MS);
  readonly #similar = new Recent<Similar>(SIMILAR_MS);
  readonly #budgets = new Recent<Budget>(BURST * REFILL_MS);

  constructor(now: () => number) {
    this.#now = now;
  }

  /** What to write for one occurrence; undefined when its object has used up its budget. */
  next(occurrence: Occurrence): EventWrite | undefined {
    const now = this.#now();
    if (!this.#spend(occurrence.uid, now)) return undefined;
    const message = cut(occurrence.message);
    const group = [occurrence.uid, occurrence.type, occurrence.reason].join("\n");
    const combined = this.#isOneOfMany(group, message, now);
    const key = combined ? group : `${group}\n${message}`;
    const seen = this.#events.get(key, now);
    const text = combined ? cut(COMBINED + message) : message;
    const write = seen
      ? { ...seen, count: seen.count + 1, message: text }
      : { id: randomBytes(8).toString("hex"), count: 1, message: text, firstAt: now };
    this.#events.set(key, write, now);
    return write;
  }

  #spend(uid: string, now: number): boolean {
    const { tokens, at } = this.#budgets.get(uid, now) ?? { tokens: BURST, at: now };
    const left = Math.min(BURST, tokens + (now - at) / REFILL_MS);
    this.#budgets.set(uid, { tokens: left < 1 ? left : left - 1, at: now }, now);
    return left >= 1;
  }

  #isOneOfMany(group: string, message: string, now: number): boolean {
    const held = this.#similar.get(group, now);
    const similar = held && now - held.since <= SIMILAR_MS ? held : { messages: new Set<string>(), since: now };
    if (similar.messages.size <= MAX_SIMILAR) similar.messages.add(message);
    this.#similar.set(group, similar, now);
    return similar.messages.size > MAX_SIMILAR;
  }
}

/** A map that forgets what was not set for a while, and the entry unset for longest when it is full. */
class Recent<V> {
  readonly #entries = new Map<string, { value: V; at: number }>();
  readonly #lifeMs: number;

  constructor(lifeMs: number) {
    this.#lifeMs = lifeMs;
  }

  get(key: string, now: number): V | undefined {
    const entry = this.#entries.get(key);
    return entry && now - entry.at <= this.#lifeMs ? entry.value : undefined;
  }

  set(key: string, value: V, now: number): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, at: now });
    for (const [oldest, { at }] of this.#entries) {
      if (this.#entries.size <= MAX_REMEMBERED && now - at <= this.#lifeMs) return;
      this.#entries.delete(oldest);
    }
  }
}

function cut(text: string): string {
  return text.length <= MAX_MESSAGE ? text : `${text.slice(0, MAX_MESSAGE - 1)}…`;
}
