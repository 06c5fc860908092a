const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;
const NEWLINE = 0x0a;
/** Deeper nesting than this is refused instead of exhausting the stack of whoever walks the object. */
export const MAX_DEPTH = 1_000;
/** More values in one object than this are refused: they take far more memory than text. Real objects have some ten thousand. */
export const MAX_VALUES = 2_000_000;

/** What stands next in a stream of JSON objects. Offsets count from the start of the bytes given. */
export type Scan =
  /** An object from `start` to `end`; `line` is the number of newlines before it, `lines` those before its end. */
  | { readonly kind: "object"; readonly start: number; readonly end: number; readonly line: number; readonly lines: number }
  /** Something that cannot begin an object. */
  | { readonly kind: "other"; readonly start: number; readonly line: number }
  /** An object begins at `start` and does not end. */
  | { readonly kind: "partial"; readonly start: number; readonly line: number }
  /** The object that begins at `start` nests deeper than MAX_DEPTH. */
  | { readonly kind: "deep"; readonly start: number; readonly line: number }
  /** The object that begins at `start` holds more values than allowed. */
  | { readonly kind: "many"; readonly start: number; readonly line: number }
  /** Nothing but white space. */
  | { readonly kind: "nothing"; readonly line: number };

/**
 * Finds the end of the next object in a growing piece of a JSON stream by its braces and quotes; what is between them is not checked.
 * It remembers how far it has looked, so looking again after more bytes arrived costs only the new bytes.
 */
export class JsonObjectScanner {
  #position = 0;
  #start = -1;
  #depth = 0;
  #lines = 0;
  #startLine = 0;
  #inString = false;
  /** Commas and opening brackets: one stands before every value but the first. */
  #values = 0;
  readonly #maxValues: number;

  /** @param maxValues of one object. */
  constructor(maxValues: number = MAX_VALUES) {
    this.#maxValues = maxValues;
  }

  /** @param bytes all unconsumed bytes; the same ones as before, perhaps more. */
  scan(bytes: Uint8Array): Scan {
    if (this.#start < 0) {
      this.#skipSpace(bytes);
      if (this.#position >= bytes.length) return { kind: "nothing", line: this.#lines };
      if (bytes[this.#position] !== OPEN_BRACE) return { kind: "other", start: this.#position, line: this.#lines };
      this.#start = this.#position;
      this.#startLine = this.#lines;
    }
    const ended = this.#toEnd(bytes);
    if (this.#depth > MAX_DEPTH) return { kind: "deep", start: this.#start, line: this.#startLine };
    if (this.#values > this.#maxValues) return { kind: "many", start: this.#start, line: this.#startLine };
    return ended ? this.#found() : { kind: "partial", start: this.#start, line: this.#startLine };
  }

  /** Forgets what was looked at, for bytes that begin elsewhere. */
  reset(): void {
    this.#position = 0;
    this.#start = -1;
    this.#lines = 0;
  }

  #found(): Scan {
    const found: Scan = { kind: "object", start: this.#start, end: this.#position, line: this.#startLine, lines: this.#lines };
    this.#position = 0;
    this.#start = -1;
    this.#lines = 0;
    this.#values = 0;
    return found;
  }

  #skipSpace(bytes: Uint8Array): void {
    for (; this.#position < bytes.length; this.#position++) {
      const byte = bytes[this.#position];
      if (byte === NEWLINE) this.#lines++;
      else if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) return;
    }
  }

  #toEnd(bytes: Uint8Array): boolean {
    let position = this.#position;
    let depth = this.#depth;
    for (;;) {
      if (this.#inString) {
        const close = closingQuote(bytes, position);
        if (close < 0) {
          position = bytes.length - (trailingBackslashes(bytes, position, bytes.length) % 2); // pairs are escapes of their own
          break;
        }
        this.#inString = false;
        position = close + 1;
      }
      for (; position < bytes.length; position++) {
        const byte = bytes[position];
        if (byte === QUOTE) {
          this.#inString = true;
          position++;
          break;
        }
        if (byte === COMMA) {
          if (++this.#values > this.#maxValues) break;
        } else if (byte === NEWLINE) this.#lines++;
        else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
          if (++depth > MAX_DEPTH || ++this.#values > this.#maxValues) break;
        } else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --depth === 0) {
          this.#position = position + 1;
          this.#depth = 0;
          return true;
        }
      }
      if (!this.#inString || depth > MAX_DEPTH || this.#values > this.#maxValues) break;
    }
    this.#position = position;
    this.#depth = depth;
    return false;
  }
}

/** The first quote from `from` on that no backslash escapes; -1 when there is none. `from` must not be inside an escape. */
function closingQuote(bytes: Uint8Array, from: number): number {
  for (let quote = bytes.indexOf(QUOTE, from); quote >= 0; quote = bytes.indexOf(QUOTE, quote + 1)) {
    if (trailingBackslashes(bytes, from, quote) % 2 === 0) return quote;
  }
  return -1;
}

/** How many backslashes stand in a row before `end`, not looking before `from`. */
function trailingBackslashes(bytes: Uint8Array, from: number, end: number): number {
  let first = end;
  while (first > from && bytes[first - 1] === BACKSLASH) first--;
  return end - first;
}

const SEPARATOR = Buffer.from("---");
const LINE_SEPARATOR = Buffer.from("\n---");

/** What stands next in a stream of YAML documents. */
export type Split =
  /** A document of the bytes before `end`; the next one begins at `next`. */
  | { readonly kind: "document"; readonly end: number; readonly next: number }
  /** A separator line at `start` with something behind the dashes. */
  | { readonly kind: "separator"; readonly start: number; readonly rest: string };

/**
 * Splits YAML at lines that begin with `---`, which cannot stand inside a document. A separator with nothing before it belongs to the
 * document that follows.
 * It remembers how far it has looked, so looking again after more bytes arrived costs only the new bytes.
 * @see k8s.io/apimachinery v0.36.3 pkg/util/yaml/decoder.go, YAMLReader
 */
export class YamlSplitter {
  #from = 0;

  /** @param bytes all unconsumed bytes, beginning with a line; the same ones as before, perhaps more. @returns undefined when more are needed. */
  next(bytes: Buffer, atEnd: boolean): Split | undefined {
    for (;;) {
      const start = this.#separator(bytes);
      if (start < 0) break;
      const newline = bytes.indexOf(NEWLINE, start);
      if (newline < 0 && !atEnd) return undefined;
      const lineEnd = newline < 0 ? bytes.length : newline;
      const rest = bytes.toString("utf8", start + SEPARATOR.length, lineEnd).trim();
      if (rest !== "" && !rest.startsWith("#")) return { kind: "separator", start, rest: rest.slice(0, 100) };
      const next = newline < 0 ? bytes.length : newline + 1;
      if (start > 0) {
        this.#from = 0;
        return { kind: "document", end: start, next };
      }
      this.#from = next;
    }
    if (!atEnd) {
      this.#from = Math.max(this.#from, bytes.length - LINE_SEPARATOR.length);
      return undefined;
    }
    this.#from = 0;
    return bytes.length === 0 ? undefined : { kind: "document", end: bytes.length, next: bytes.length };
  }

  #separator(bytes: Buffer): number {
    if (this.#from === 0 && bytes.subarray(0, SEPARATOR.length).equals(SEPARATOR)) return 0;
    const at = bytes.indexOf(LINE_SEPARATOR, Math.max(0, this.#from - 1));
    return at < 0 ? -1 : at + 1;
  }
}

/** How many of the first `end` bytes are newlines. */
export function newlinesIn(bytes: Buffer, end: number): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0 && at < end; at = bytes.indexOf(NEWLINE, at + 1)) count++;
  return count;
}

const START_BYTES = 64 * 1024;

/** Bytes that arrived and are not consumed yet, in one piece. Appending and consuming cost as much as the bytes themselves. */
export class ByteQueue {
  #buffer = Buffer.allocUnsafeSlow(START_BYTES);
  #start = 0;
  #end = 0;

  /** What is there, as a view that the next `append` makes invalid. */
  get bytes(): Buffer {
    return this.#buffer.subarray(this.#start, this.#end);
  }

  get length(): number {
    return this.#end - this.#start;
  }

  append(chunk: Uint8Array): void {
    const needed = this.length + chunk.byteLength;
    if (this.#end + chunk.byteLength > this.#buffer.length) {
      const room = needed * 2 <= this.#buffer.length || needed <= START_BYTES ? this.#buffer : Buffer.allocUnsafeSlow(roomFor(needed));
      room.set(this.bytes, 0);
      this.#end = this.length;
      this.#start = 0;
      this.#buffer = room;
    }
    this.#buffer.set(chunk, this.#end);
    this.#end += chunk.byteLength;
  }

  /** Drops everything; the memory is kept for what comes next. */
  clear(): void {
    this.#start = 0;
    this.#end = 0;
  }

  /** Drops the first `count` bytes. */
  consume(count: number): void {
    this.#start += count;
  }
}

function roomFor(bytes: number): number {
  let room = START_BYTES;
  while (room < bytes) room *= 2;
  return room;
}
