/** The first place where text is not JSON. `line` and `column` count from 1. */
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
/** Deeper nesting than this is called a fault. */
const MAX_DEPTH = 1_000;

class Fault extends Error {
  readonly offset: number;
  constructor(offset: number, reason: string) {
    super(reason);
    this.offset = offset;
  }
}

/** Where and why `text` is not one JSON value; undefined when it is one. Unlike the engine's message it never quotes the text. */
export function jsonFaultIn(text: string): JsonFault | undefined {
  try {
    const end = skip(text, valueEnd(text, skip(text, 0), 0));
    if (end < text.length) throw new Fault(end, "unexpected text after the value");
    return undefined;
  } catch (err) {
    if (!(err instanceof Fault)) throw err;
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
  if (depth > MAX_DEPTH) throw new Fault(at, "nested too deeply");
  if (at >= text.length) throw new Fault(at, "unexpected end");
  const char = text[at];
  if (char === "{") return listEnd(text, at + 1, "}", (from) => memberEnd(text, from, depth + 1));
  if (char === "[") return listEnd(text, at + 1, "]", (from) => valueEnd(text, from, depth + 1));
  if (char === '"') return stringEnd(text, at);
  const end = match(NUMBER, text, at) ?? match(LITERAL, text, at);
  if (end === undefined)
    throw new Fault(at, `unexpected character ${JSON.stringify(String.fromCodePoint(text.codePointAt(at) ?? 0))}, expected a value`);
  return end;
}

function memberEnd(text: string, at: number, depth: number): number {
  if (text[at] !== '"') throw new Fault(at, at < text.length ? "expected a key in double quotes" : "unexpected end");
  const colon = skip(text, stringEnd(text, at));
  if (text[colon] !== ":") throw new Fault(colon, colon < text.length ? 'expected ":" after a key' : "unexpected end");
  return valueEnd(text, skip(text, colon + 1), depth);
}

function listEnd(text: string, from: number, close: string, itemEnd: (from: number) => number): number {
  let at = skip(text, from);
  if (text[at] === close) return at + 1;
  for (;;) {
    at = skip(text, itemEnd(at));
    if (text[at] === close) return at + 1;
    if (text[at] !== ",") throw new Fault(at, at < text.length ? `expected "," or "${close}"` : "unexpected end");
    at = skip(text, at + 1);
  }
}

/** Not by a pattern: it would need room for each character of a long string. */
function stringEnd(text: string, at: number): number {
  for (let end = at + 1; end < text.length; ) {
    const code = text.charCodeAt(end);
    if (code === QUOTE) return end + 1;
    const next = code === BACKSLASH ? match(ESCAPE, text, end) : code < FIRST_PRINTABLE ? undefined : end + 1;
    if (next === undefined) break;
    end = next;
  }
  throw new Fault(at, "a string that does not end, or that holds a control character or an unknown escape");
}

function skip(text: string, at: number): number {
  return match(SPACE, text, at) ?? at;
}

function match(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}
