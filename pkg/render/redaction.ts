import { isObject } from "../golang/members.ts";
import { goQuote } from "../golang/quote.ts";
import { redactUserinfo } from "../text/redact.ts";

/** What stands in place of a value that is not shown. */
export const HIDDEN = "(from spec.config.valuesFrom)";

/** Shorter texts are hidden only where they are a whole value: within others they would be found everywhere. */
const LEAST = 3;
/** Shorter texts are hidden within others only as words of their own. */
const LEAST_ANYWHERE = 8;
/** Of longer texts so many characters give them away: whatever cuts a message short may have cut them. */
const PREFIX = 24;
/** Steps that one text may take, some 50 ms. Only texts that were made for it take more; nothing of them is shown then. */
const MAX_STEPS = 5_000_000;
/** Characters that are searched in the time of a step, which compares one. */
const SEARCHED_CHARACTERS = 16;
/** Words that are in any text, and tell nothing. */
const PLAIN_WORDS: ReadonlySet<string> = new Set(["true", "false", "null"]);
const WORD = /[\p{L}\p{N}]/u;

/** A text that is looked for within others. */
interface Part {
  readonly text: string;
  /** What is searched: the text itself, or its beginning. */
  readonly search: string;
}

/**
 * Takes texts that are not to be shown out of messages and values. Case counts; escaped as JSON or Go have it they are found too, and the
 * lines of a text of several by themselves.
 */
export class HiddenTexts {
  readonly #whole = new Set<string>();
  readonly #revealed = new Set<string>();
  #parts: Part[] | undefined;

  /** @param texts as scalars of a configuration are, see `scalarTexts`. */
  constructor(texts: Iterable<string> = []) {
    this.add(texts);
  }

  /** All that is not shown. */
  get texts(): string[] {
    return [...this.#whole].filter((text) => !this.#revealed.has(text));
  }

  get isEmpty(): boolean {
    return this.#whole.size === 0;
  }

  add(texts: Iterable<string>): void {
    for (const text of texts) if (text !== "") this.#whole.add(text);
    this.#parts = undefined;
  }

  /** Shows a text from now on, as it is known in any case, such as the name of a namespace. */
  reveal(...texts: string[]): void {
    for (const text of texts) this.#revealed.add(text);
    this.#parts = undefined;
  }

  /** `text` without any of them; nothing of it where too many of them, or too long ones, would have to be compared. */
  hide(text: string): string {
    this.#parts ??= partsOf(this.texts);
    const parts = this.#parts;
    if (parts.length === 0) return text;
    const steps: Steps = { left: MAX_STEPS };
    return text
      .split(HIDDEN)
      .map((piece) => withoutParts(piece, parts, steps))
      .join(HIDDEN);
  }

  /** A JSON value without any of them, names of members included. */
  hideIn(value: unknown): unknown {
    if (typeof value === "string") return this.#isHidden(value) ? HIDDEN : this.hide(value);
    if (typeof value === "number" || typeof value === "bigint") return this.#isHidden(String(value)) ? HIDDEN : value;
    if (Array.isArray(value)) return value.map((entry) => this.hideIn(entry));
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [this.hide(name), this.hideIn(member)]));
  }

  #isHidden(text: string): boolean {
    return this.#whole.has(text) && !this.#revealed.has(text);
  }
}

function partsOf(texts: readonly string[]): Part[] {
  const parts = new Set<string>();
  for (const text of texts) {
    const lines = text.includes("\n") ? text.split("\n").filter((line) => line.trim().length >= LEAST_ANYWHERE) : [];
    for (const part of [text, ...lines].map((line) => line.trim())) {
      const quoted = goQuote(part).slice(1, -1);
      const forms = [part, quoted, JSON.stringify(part).slice(1, -1), quoted.replaceAll('\\"', '"').replaceAll("'", "\\'")];
      if (part.length >= LEAST && !PLAIN_WORDS.has(part)) for (const form of forms) parts.add(form).add(redactUserinfo(form));
    }
  }
  return [...parts].map((text) => ({ text, search: text.slice(0, PREFIX) }));
}

/** Counts steps down; below 0 they are used up. */
interface Steps {
  left: number;
}

function withoutParts(text: string, parts: readonly Part[], steps: Steps): string {
  const found: [number, number][] = [];
  for (const part of parts) {
    addPlaces(text, part, steps, found);
    if (steps.left < 0) return HIDDEN;
  }
  found.sort(([a], [b]) => a - b);
  let out = "";
  let end = 0;
  for (const [from, to] of found) {
    if (to <= end) continue;
    if (from > end || out === "") out += text.slice(end, from) + HIDDEN;
    end = to;
  }
  return out + text.slice(end);
}

/** Adds from and to of each place until the steps are used up. A place at the end of a text that was cut is shorter. */
function addPlaces(text: string, { text: hidden, search }: Part, steps: Steps, places: [number, number][]): void {
  const isWord = hidden.length < LEAST_ANYWHERE;
  steps.left -= Math.ceil(text.length / SEARCHED_CHARACTERS);
  for (let from = text.indexOf(search); from >= 0 && steps.left >= 0; from = text.indexOf(search, from + 1)) {
    let to = from + search.length;
    for (let at = search.length; at < hidden.length && text[to] === hidden[at]; at++) to++;
    steps.left -= to - from;
    if (isWord && (WORD.test(text[from - 1] ?? "") || WORD.test(text[to] ?? ""))) continue;
    places.push([from, to]);
  }
}
