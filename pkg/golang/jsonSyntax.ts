import { goQuote } from "./quote.ts";

/** Deeper nesting than this is a fault. */
const GO_MAX_DEPTH = 10_000;
const SPACES = " \t\r\n";
const LITERALS: Readonly<Record<string, string>> = { t: "true", f: "false", n: "null" };
const ESCAPES = 'bfnrt\\/"';

/** What ends next inside an open bracket: the key of an object, the value of an object, or an element of a list. */
type Open = "key" | "member" | "element";
/** Processes a character and returns the step for the next one. */
type Step = (char: string) => Step;

class GoSyntaxError extends Error {}

/**
 * Returns Go's error if `text` is not a single JSON value, such as `unexpected end of JSON input` or `invalid character 'x' looking for beginning of
 * value`; undefined if it is valid. Quotes at most one character; takes linear time, and does not recurse for nesting.
 * @see https://github.com/golang/go/blob/go1.25.0/src/encoding/json/scanner.go
 */
export function findGoJsonFault(text: string): string | undefined {
  const scanner = new Scanner();
  let step = scanner.start;
  try {
    // Go reads bytes, and prints each byte as the character with the same code.
    for (const char of Buffer.from(text, "utf8").toString("latin1")) step = step(char);
    if (!scanner.ended) step(" ");
  } catch (err) {
    if (err instanceof GoSyntaxError) return err.message;
    throw err;
  }
  return scanner.ended ? undefined : "unexpected end of JSON input";
}

class Scanner {
  readonly #open: Open[] = [];
  #ended = false;

  get ended(): boolean {
    return this.#ended;
  }

  get start(): Step {
    return this.#value;
  }

  readonly #value: Step = (char) => {
    if (SPACES.includes(char)) return this.#value;
    if (char === "{") return this.#opened("key", char, this.#keyOrEnd);
    if (char === "[") return this.#opened("element", char, this.#valueOrEnd);
    if (char === '"') return this.#string;
    if (char === "-") return this.#negative;
    if (char === "0") return this.#zero;
    if (isDigit(char)) return this.#integer;
    const literal = LITERALS[char];
    if (literal !== undefined) return this.#literal(literal, 1);
    throw fault(char, "looking for beginning of value");
  };

  readonly #valueOrEnd: Step = (char) => {
    if (SPACES.includes(char)) return this.#valueOrEnd;
    return char === "]" ? this.#afterValue(char) : this.#value(char);
  };

  readonly #keyOrEnd: Step = (char) => {
    if (SPACES.includes(char)) return this.#keyOrEnd;
    if (char !== "}") return this.#key(char);
    this.#open[this.#open.length - 1] = "member";
    return this.#afterValue(char);
  };

  readonly #key: Step = (char) => {
    if (SPACES.includes(char)) return this.#key;
    if (char === '"') return this.#string;
    throw fault(char, "looking for beginning of object key string");
  };

  readonly #afterValue: Step = (char) => {
    const open = this.#open.at(-1);
    if (open === undefined) {
      this.#ended = true;
      return this.#afterEnd(char);
    }
    if (SPACES.includes(char)) return this.#afterValue;
    if (open === "key") return this.#next(char, ":", "member", this.#value, "after object key");
    if (open === "member") {
      return char === "}" ? this.#closed() : this.#next(char, ",", "key", this.#key, "after object key:value pair");
    }
    return char === "]" ? this.#closed() : this.#next(char, ",", "element", this.#value, "after array element");
  };

  readonly #afterEnd: Step = (char) => {
    if (SPACES.includes(char)) return this.#afterEnd;
    throw fault(char, "after top-level value");
  };

  #next(char: string, wanted: string, open: Open, then: Step, context: string): Step {
    if (char !== wanted) throw fault(char, context);
    this.#open[this.#open.length - 1] = open;
    return then;
  }

  #opened(open: Open, char: string, then: Step): Step {
    this.#open.push(open);
    if (this.#open.length > GO_MAX_DEPTH) throw fault(char, "exceeded max depth");
    return then;
  }

  #closed(): Step {
    this.#open.pop();
    if (this.#open.length > 0) return this.#afterValue;
    this.#ended = true;
    return this.#afterEnd;
  }

  readonly #string: Step = (char) => {
    if (char === '"') return this.#afterValue;
    if (char === "\\") return this.#escape;
    if (char < " ") throw fault(char, "in string literal");
    return this.#string;
  };

  readonly #escape: Step = (char) => {
    if (char === "u") return this.#hex(4);
    if (ESCAPES.includes(char)) return this.#string;
    throw fault(char, "in string escape code");
  };

  #hex(left: number): Step {
    if (left === 0) return this.#string;
    return (char) => {
      if (/[\da-fA-F]/.test(char)) return this.#hex(left - 1);
      throw fault(char, "in \\u hexadecimal character escape");
    };
  }

  readonly #negative: Step = (char) => {
    if (char === "0") return this.#zero;
    if (isDigit(char)) return this.#integer;
    throw fault(char, "in numeric literal");
  };

  readonly #integer: Step = (char) => (isDigit(char) ? this.#integer : this.#zero(char));

  readonly #zero: Step = (char) => (char === "." ? this.#point : this.#exponentOrEnd(char));

  readonly #point: Step = (char) => {
    if (isDigit(char)) return this.#fraction;
    throw fault(char, "after decimal point in numeric literal");
  };

  readonly #fraction: Step = (char) => (isDigit(char) ? this.#fraction : this.#exponentOrEnd(char));

  readonly #exponentOrEnd: Step = (char) => (char === "e" || char === "E" ? this.#exponent : this.#afterValue(char));

  readonly #exponent: Step = (char) => (char === "+" || char === "-" ? this.#exponentSigned : this.#exponentSigned(char));

  readonly #exponentSigned: Step = (char) => {
    if (isDigit(char)) return this.#exponentDigits;
    throw fault(char, "in exponent of numeric literal");
  };

  readonly #exponentDigits: Step = (char) => (isDigit(char) ? this.#exponentDigits : this.#afterValue(char));

  #literal(word: string, at: number): Step {
    const expected = word[at];
    if (expected === undefined) return this.#afterValue;
    return (char) => {
      if (char === expected) return this.#literal(word, at + 1);
      throw fault(char, `in literal ${word} (expecting '${expected}')`);
    };
  }
}

function isDigit(char: string): boolean {
  return char >= "0" && char <= "9";
}

function fault(char: string, context: string): GoSyntaxError {
  return new GoSyntaxError(`invalid character ${quoted(char)} ${context}`);
}

/** Quotes one byte as Go does, in single quotes. */
function quoted(char: string): string {
  if (char === "'") return String.raw`'\''`;
  if (char === '"') return `'"'`;
  return `'${goQuote(char).slice(1, -1)}'`;
}

/** The first error in invalid JSON. `line` and `column` count from 1. */
export interface JsonFault {
  line: number;
  column: number;
  reason: string;
}

const SPACE = /[ \t\r\n]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;
const LITERAL = /true|false|null/y;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const FIRST_PRINTABLE = 0x20;
/** Deeper nesting than this is a fault. */
const MAX_DEPTH = 1_000;

class JsonSyntaxFault extends Error {
  readonly offset: number;
  constructor(offset: number, reason: string) {
    super(reason);
    this.offset = offset;
  }
}

/**
 * Returns the first fault in `text` with its position; undefined if `text` is a single JSON value. Unlike the message of JSON.parse, the reason does
 * not quote the text.
 */
export function findJsonSyntaxFault(text: string): JsonFault | undefined {
  try {
    const end = skip(text, valueEnd(text, skip(text, 0), 0));
    if (end < text.length) throw new JsonSyntaxFault(end, "unexpected text after the value");
    return undefined;
  } catch (err) {
    if (!(err instanceof JsonSyntaxFault)) throw err;
    let line = 1;
    let start = 0;
    for (let at = text.indexOf("\n"); at >= 0 && at < err.offset; at = text.indexOf("\n", start)) {
      line++;
      start = at + 1;
    }
    return { line, column: err.offset - start + 1, reason: err.message };
  }
}

function valueEnd(text: string, at: number, depth: number): number {
  if (depth > MAX_DEPTH) throw new JsonSyntaxFault(at, "nested too deeply");
  if (at >= text.length) throw new JsonSyntaxFault(at, "unexpected end");
  const char = text[at];
  if (char === "{") return listEnd(text, at + 1, "}", (from) => memberEnd(text, from, depth + 1));
  if (char === "[") return listEnd(text, at + 1, "]", (from) => valueEnd(text, from, depth + 1));
  if (char === '"') return validStringEnd(text, at);
  const end = match(NUMBER, text, at) ?? match(LITERAL, text, at);
  if (end === undefined)
    throw new JsonSyntaxFault(
      at,
      `unexpected character ${JSON.stringify(String.fromCodePoint(text.codePointAt(at) ?? 0))}, expected a value`,
    );
  return end;
}

function memberEnd(text: string, at: number, depth: number): number {
  if (text[at] !== '"') throw new JsonSyntaxFault(at, at < text.length ? "expected a key in double quotes" : "unexpected end");
  const colon = skip(text, validStringEnd(text, at));
  if (text[colon] !== ":") throw new JsonSyntaxFault(colon, colon < text.length ? 'expected ":" after a key' : "unexpected end");
  return valueEnd(text, skip(text, colon + 1), depth);
}

function listEnd(text: string, from: number, close: string, itemEnd: (from: number) => number): number {
  let at = skip(text, from);
  if (text[at] === close) return at + 1;
  for (;;) {
    at = skip(text, itemEnd(at));
    if (text[at] === close) return at + 1;
    if (text[at] !== ",") throw new JsonSyntaxFault(at, at < text.length ? `expected "," or "${close}"` : "unexpected end");
    at = skip(text, at + 1);
  }
}

/** Returns the index at which a valid string ends. A regular expression would need memory for each character of a long string. */
function validStringEnd(text: string, at: number): number {
  for (let end = at + 1; end < text.length; ) {
    const code = text.charCodeAt(end);
    if (code === QUOTE) return end + 1;
    const next = code === BACKSLASH ? match(ESCAPE, text, end) : code < FIRST_PRINTABLE ? undefined : end + 1;
    if (next === undefined) break;
    end = next;
  }
  throw new JsonSyntaxFault(at, "invalid string: it is unterminated, or contains a control character or an unknown escape");
}

function skip(text: string, at: number): number {
  return match(SPACE, text, at) ?? at;
}

function match(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}
