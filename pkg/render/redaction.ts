import { isObject } from "../golang/members.ts";
import { goQuote } from "../golang/quote.ts";
import { redactUserinfo } from "../text/redact.ts";

/** Replacement for hidden values. */
export const HIDDEN = "(from spec.config.valuesFrom)";

/** Minimum length of a text to hide inside other texts. Shorter texts would match too often, so they are hidden only as whole values. */
const MIN_LENGTH = 3;
/** Minimum length of a text to hide inside a word. Shorter texts are hidden only as whole words. */
const MIN_LENGTH_ANYWHERE = 8;
/** Number of characters at the start of a text that are enough to hide it, because a truncated message can end within the text. */
const PREFIX = 24;
/** Maximum number of steps for one text, about 50 ms. A text that needs more is malicious and is hidden completely. */
const MAX_STEPS = 5_000_000;
/** Number of characters that a search covers in one step. A comparison covers one character. */
const SEARCHED_CHARACTERS = 16;
/** Common words that reveal nothing. */
const PLAIN_WORDS: ReadonlySet<string> = new Set(["true", "false", "null"]);
const WORD = /[\p{L}\p{N}]/u;

/** A text to search for in other texts. */
interface HiddenText {
  readonly text: string;
  /** The text to search for: `text` or its beginning. */
  readonly search: string;
}

/**
 * Hides secret texts in messages and values. The search is case-sensitive, and also finds texts with JSON or Go escapes, and single lines of
 * multi-line texts.
 */
export class HiddenTexts {
  readonly #whole = new Set<string>();
  readonly #revealed = new Set<string>();
  #parts: HiddenText[] | undefined;

  /** @param texts scalars of a configuration, see `collectScalarTexts`. */
  constructor(texts: Iterable<string> = []) {
    this.add(texts);
  }

  /** All hidden texts. */
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

  /** Stops hiding texts that are not secret, such as the name of a namespace. */
  reveal(...texts: string[]): void {
    for (const text of texts) this.#revealed.add(text);
    this.#parts = undefined;
  }

  /** Replaces hidden texts in `text`. Replaces all of `text` if the search takes too many steps. */
  hide(text: string): string {
    this.#parts ??= collectParts(this.texts);
    const parts = this.#parts;
    if (parts.length === 0) return text;
    const steps: Steps = { left: MAX_STEPS };
    return text
      .split(HIDDEN)
      .map((piece) => replaceParts(piece, parts, steps))
      .join(HIDDEN);
  }

  /** Replaces hidden texts in a JSON value, including the names of members. */
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

function collectParts(texts: readonly string[]): HiddenText[] {
  const parts = new Set<string>();
  for (const text of texts) {
    const lines = text.includes("\n") ? text.split("\n").filter((line) => line.trim().length >= MIN_LENGTH_ANYWHERE) : [];
    for (const part of [text, ...lines].map((line) => line.trim())) {
      const quoted = goQuote(part).slice(1, -1);
      const forms = [part, quoted, JSON.stringify(part).slice(1, -1), quoted.replaceAll('\\"', '"').replaceAll("'", "\\'")];
      if (part.length >= MIN_LENGTH && !PLAIN_WORDS.has(part)) for (const form of forms) parts.add(form).add(redactUserinfo(form));
    }
  }
  return [...parts].map((text) => ({ text, search: text.slice(0, PREFIX) }));
}

/** Remaining steps; negative if exceeded. */
interface Steps {
  left: number;
}

function replaceParts(text: string, parts: readonly HiddenText[], steps: Steps): string {
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

/** Adds the start and end of each match until no steps remain. A match at the end of a truncated text can be shorter. */
function addPlaces(text: string, { text: hidden, search }: HiddenText, steps: Steps, places: [number, number][]): void {
  const isWord = hidden.length < MIN_LENGTH_ANYWHERE;
  steps.left -= Math.ceil(text.length / SEARCHED_CHARACTERS);
  for (let from = text.indexOf(search); from >= 0 && steps.left >= 0; from = text.indexOf(search, from + 1)) {
    let to = from + search.length;
    for (let at = search.length; at < hidden.length && text[to] === hidden[at]; at++) to++;
    steps.left -= to - from;
    if (isWord && (WORD.test(text[from - 1] ?? "") || WORD.test(text[to] ?? ""))) continue;
    places.push([from, to]);
  }
}
