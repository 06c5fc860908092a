import { EVENT_ID, type Event, getScalarValue, parseEvents } from "js-yaml";

/** Names of members and indexes of elements, from the outside in. */
export type YamlPath = readonly (string | number)[];

/** Deeper than this nothing is looked for. */
const MAX_DEPTH = 1_000;

/** Finds the lines of values in one text of YAML or JSON, for messages. */
export class YamlLines {
  readonly #source: string;
  readonly #events: readonly Event[];
  /** Where the content of each document begins in the events. */
  readonly #documents: readonly number[];

  /** A text that cannot be parsed has no lines. */
  constructor(source: string) {
    this.#source = source;
    this.#events = eventsIn(source);
    this.#documents = this.#events.flatMap((event, at) =>
      event.type === EVENT_ID.DOCUMENT && holds(this.#events[at + 1]) ? [at + 1] : [],
    );
  }

  /** How many documents hold something. */
  get documents(): number {
    return this.#documents.length;
  }

  /**
   * The line, from 1, of what `path` leads to in a document (from 0): of its key, or of the element. Where it ends before, the line of the last
   * part that there is. Undefined for a document that there is not.
   */
  lineOf(document: number, path: YamlPath): number | undefined {
    let at = this.#documents[document];
    let offset = at === undefined ? undefined : this.#offsetOf(at);
    for (const part of path) {
      const found = at === undefined ? undefined : this.#member(at, part);
      if (!found) break;
      at = found.value;
      offset = found.offset;
    }
    if (offset === undefined) return undefined;
    let line = 1;
    for (let end = this.#source.indexOf("\n"); end >= 0 && end < offset; end = this.#source.indexOf("\n", end + 1)) line++;
    return line;
  }

  #member(at: number, part: string | number): { value: number; offset: number | undefined } | undefined {
    const event = this.#events[at];
    const isList = event?.type === EVENT_ID.SEQUENCE;
    if (!isList && event?.type !== EVENT_ID.MAPPING) return undefined;
    let next = at + 1;
    for (let index = 0; this.#events[next] && this.#events[next]?.type !== EVENT_ID.POP; index++) {
      const value = isList ? next : this.#after(next);
      if (isList ? index === part : this.#textOf(next) === String(part)) return { value, offset: this.#offsetOf(next) };
      next = this.#after(value);
    }
    return undefined;
  }

  /** The event behind the value that begins at `at`. */
  #after(at: number): number {
    let depth = 0;
    for (let next = at; next < this.#events.length; next++) {
      const type = this.#events[next]?.type;
      if (type === EVENT_ID.SEQUENCE || type === EVENT_ID.MAPPING) depth++;
      else if (type === EVENT_ID.POP) depth--;
      if (depth === 0) return next + 1;
    }
    return this.#events.length;
  }

  #textOf(at: number): string | undefined {
    const event = this.#events[at];
    return event?.type === EVENT_ID.SCALAR ? getScalarValue(this.#source, event) : undefined;
  }

  #offsetOf(at: number): number | undefined {
    const event = this.#events[at];
    if (event?.type === EVENT_ID.SCALAR) return event.valueStart;
    if (event?.type === EVENT_ID.SEQUENCE || event?.type === EVENT_ID.MAPPING) return event.start;
    return event?.type === EVENT_ID.ALIAS ? event.anchorStart : undefined;
  }
}

/** Whether a document that begins with this event holds something. */
function holds(first: Event | undefined): boolean {
  return first !== undefined && first.type !== EVENT_ID.POP && !(first.type === EVENT_ID.SCALAR && first.valueStart < 0);
}

function eventsIn(source: string): readonly Event[] {
  try {
    return parseEvents(source, { filename: "", maxDepth: MAX_DEPTH });
  } catch {
    return [];
  }
}
