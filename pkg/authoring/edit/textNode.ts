import { COLLECTION_STYLE, EVENT_ID, type Event, getScalarValue, parseEvents, SCALAR_STYLE } from "js-yaml";

/** Deeper nesting than this is not edited. */
const MAX_DEPTH = 1_000;
const BLOCK_HEADER = /[|>][-+0-9]*[ \t]*(?:#.*)?$/;

/** A value in a text of YAML or JSON and where it stands: offsets from `start` to before `end`, quotes and brackets included. */
export type TextNode = MapNode | ListNode | ScalarNode;

interface Span {
  readonly start: number;
  readonly end: number;
}

/** A mapping, in braces where `flow`. */
export interface MapNode extends Span {
  readonly kind: "map";
  readonly flow: boolean;
  readonly pairs: readonly { readonly key: ScalarNode; readonly name: string; readonly value: TextNode }[];
}

/** A list, in brackets where `flow`. */
export interface ListNode extends Span {
  readonly kind: "list";
  readonly flow: boolean;
  readonly items: readonly TextNode[];
}

/** Text, number, boolean or null. */
export interface ScalarNode extends Span {
  readonly kind: "scalar";
  readonly style: "plain" | "single" | "double" | "block";
}

/** The text is written in a way that is not edited in place; it can be written anew as a whole. */
export class NotEditableError extends Error {
  override readonly name = "NotEditableError";
}

/**
 * The value of the only document in `source`.
 * @throws NotEditableError for anchors, aliases, tags, values that are left out, and what is no single document of YAML or JSON.
 */
export function textNode(source: string): TextNode {
  const reader = new NodeReader(source);
  return reader.document();
}

class NodeReader {
  readonly #source: string;
  readonly #events: readonly Event[];
  #at = 0;

  constructor(source: string) {
    this.#source = source;
    try {
      this.#events = parseEvents(source, { filename: "", maxDepth: MAX_DEPTH });
    } catch (err) {
      throw new NotEditableError("it is no YAML that is edited in place", { cause: err });
    }
  }

  document(): TextNode {
    if (this.#events.filter(({ type }) => type === EVENT_ID.DOCUMENT).length !== 1) throw new NotEditableError("it is not one document");
    this.#at = 1;
    return this.#value();
  }

  #value(): TextNode {
    const event = this.#events[this.#at++];
    if (event?.type === EVENT_ID.SCALAR) return this.#scalar(event);
    if (event?.type !== EVENT_ID.MAPPING && event?.type !== EVENT_ID.SEQUENCE) throw new NotEditableError("it has an alias or no value");
    if (event.anchorStart >= 0 || event.tagStart >= 0) throw new NotEditableError("it has an anchor or a tag");
    const flow = event.style === COLLECTION_STYLE.FLOW;
    return event.type === EVENT_ID.MAPPING ? this.#map(event.start, flow) : this.#list(event.start, flow);
  }

  #map(start: number, flow: boolean): MapNode {
    const pairs: MapNode["pairs"][number][] = [];
    while (this.#inside()) {
      const event = this.#events[this.#at];
      const key = this.#value();
      if (key.kind !== "scalar" || event?.type !== EVENT_ID.SCALAR) throw new NotEditableError("a key is no text");
      pairs.push({ key, name: getScalarValue(this.#source, event), value: this.#value() });
    }
    const last = pairs.at(-1)?.value.end ?? start + 1;
    return { kind: "map", flow, start, end: flow ? this.#closing(last, "}") : last, pairs };
  }

  #list(start: number, flow: boolean): ListNode {
    const items: TextNode[] = [];
    while (this.#inside()) items.push(this.#value());
    const last = items.at(-1)?.end ?? start + 1;
    return { kind: "list", flow, start, end: flow ? this.#closing(last, "]") : last, items };
  }

  /** Whether another value follows in the collection; steps behind its end where none does. */
  #inside(): boolean {
    const event = this.#events[this.#at];
    if (event === undefined) throw new NotEditableError("it ends early");
    if (event.type !== EVENT_ID.POP) return true;
    this.#at++;
    return false;
  }

  #scalar(event: Extract<Event, { type: typeof EVENT_ID.SCALAR }>): ScalarNode {
    if (event.valueStart < 0) throw new NotEditableError("a value is left out");
    if (event.anchorStart >= 0 || event.tagStart >= 0) throw new NotEditableError("it has an anchor or a tag");
    const { valueStart: start, valueEnd: end, style } = event;
    if (style === SCALAR_STYLE.PLAIN) return { kind: "scalar", style: "plain", start, end };
    if (style === SCALAR_STYLE.SINGLE_QUOTED) return { kind: "scalar", style: "single", start: start - 1, end: end + 1 };
    if (style === SCALAR_STYLE.DOUBLE_QUOTED) return { kind: "scalar", style: "double", start: start - 1, end: end + 1 };
    return this.#block(start, end);
  }

  /** A block scalar from its `|` or `>` to the end of its last line that is not empty. */
  #block(start: number, end: number): ScalarNode {
    const headEnd = start > 0 && this.#source[start - 1] === "\n" ? start - 1 : start;
    const lineStart = this.#source.lastIndexOf("\n", headEnd - 1) + 1;
    const header = BLOCK_HEADER.exec(this.#source.slice(lineStart, headEnd).trimEnd());
    if (!header) throw new NotEditableError("a block of text has no header");
    const content = this.#source.slice(start, end).trimEnd();
    return { kind: "scalar", style: "block", start: lineStart + header.index, end: start + content.length };
  }

  /** Behind the bracket that closes a collection whose last value ends at `from`. */
  #closing(from: number, bracket: string): number {
    for (let at = from; at < this.#source.length; at++) {
      const char = this.#source[at];
      if (char === bracket) return at + 1;
      if (char === "#") at = this.#lineEnd(at);
      else if (char !== "," && !/\s/.test(char ?? "")) break;
    }
    throw new NotEditableError("a bracket is not closed where it is expected");
  }

  #lineEnd(at: number): number {
    const end = this.#source.indexOf("\n", at);
    return end < 0 ? this.#source.length : end;
  }
}
