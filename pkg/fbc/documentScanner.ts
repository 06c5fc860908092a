const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;
const NEWLINE = 0x0a;
/** Maximum nesting depth. Protects recursive code from exhausting its stack. */
export const MAX_DEPTH = 1_000;
/** Maximum values in one object, because values take much more memory than text. Real objects have about ten thousand. */
export const MAX_VALUES = 2_000_000;

/** The next item in a stream of JSON objects. Offsets count from the start of the given bytes. */
export type Scan =
  /** An object from `start` to `end`. `line` is the number of newlines before `start`, `lines` the number of newlines before `end`. */
  | { readonly kind: "object"; readonly start: number; readonly end: number; readonly line: number; readonly lines: number }
  /** A character that cannot begin an object. */
  | { readonly kind: "other"; readonly start: number; readonly line: number }
  /** An incomplete object that begins at `start`. */
  | { readonly kind: "partial"; readonly start: number; readonly line: number }
  /** The object that begins at `start` is nested deeper than MAX_DEPTH. */
  | { readonly kind: "deep"; readonly start: number; readonly line: number }
  /** The object that begins at `start` contains too many values. */
  | { readonly kind: "many"; readonly start: number; readonly line: number }
  /** Only white space. */
  | { readonly kind: "nothing"; readonly line: number };

/**
 * Finds the end of the next object in a growing part of a JSON stream by its braces and quotes. Does not check other content. Remembers its position:
 * after more bytes arrive, the next scan reads only the new bytes.
 */
export class JsonObjectScanner {
  #position = 0;
  #start = -1;
  #depth = 0;
  #lines = 0;
  #startLine = 0;
  #inString = false;
  /** Number of commas and opening brackets, which precede every value except the first. */
  #values = 0;
  readonly #maxValues: number;

  /** @param maxValues maximum values of one object. */
  constructor(maxValues: number = MAX_VALUES) {
    this.#maxValues = maxValues;
  }

  /** Scans for the next item. @param bytes all unconsumed bytes: the bytes of the previous call and possibly more. */
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
    return ended ? this.#takeObject() : { kind: "partial", start: this.#start, line: this.#startLine };
  }

  /** Resets the position. Call it if the next bytes do not begin at the same start. */
  reset(): void {
    this.#position = 0;
    this.#start = -1;
    this.#lines = 0;
  }

  #takeObject(): Scan {
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
          position = bytes.length - (trailingBackslashes(bytes, position, bytes.length) % 2); // a pair of backslashes is an escaped backslash
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

/** Finds the first unescaped quote at or after `from`; -1 if there is none. `from` must not be inside an escape. */
function closingQuote(bytes: Uint8Array, from: number): number {
  for (let quote = bytes.indexOf(QUOTE, from); quote >= 0; quote = bytes.indexOf(QUOTE, quote + 1)) {
    if (trailingBackslashes(bytes, from, quote) % 2 === 0) return quote;
  }
  return -1;
}

/** Counts the consecutive backslashes directly before `end`, back to `from`. */
function trailingBackslashes(bytes: Uint8Array, from: number, end: number): number {
  let first = end;
  while (first > from && bytes[first - 1] === BACKSLASH) first--;
  return end - first;
}

const SEPARATOR = Buffer.from("---");
const LINE_SEPARATOR = Buffer.from("\n---");

/** The next item in a stream of YAML documents. */
export type Split =
  /** A document that consists of the bytes before `end`. The next document begins at `next`. */
  | { readonly kind: "document"; readonly end: number; readonly next: number }
  /** A separator line at `start` with content after the dashes. */
  | { readonly kind: "separator"; readonly start: number; readonly rest: string };

/**
 * Splits YAML at lines that begin with `---`, which a document cannot contain. A separator without content before it belongs to the next document.
 * Remembers its position: after more bytes arrive, the next call reads only the new bytes.
 * @see k8s.io/apimachinery v0.36.3 pkg/util/yaml/decoder.go, YAMLReader
 */
export class YamlSplitter {
  #from = 0;

  /**
   * Returns the next document or invalid separator.
   * @param bytes all unconsumed bytes, from the start of a line: the bytes of the previous call and possibly more.
   * @returns undefined if more bytes are needed.
   */
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

/** Counts the newlines in the first `end` bytes. */
export function countNewlines(bytes: Buffer, end: number): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0 && at < end; at = bytes.indexOf(NEWLINE, at + 1)) count++;
  return count;
}

const START_BYTES = 64 * 1024;

/** A contiguous queue of received bytes. Appending and consuming bytes takes linear time. */
export class ByteQueue {
  #buffer = Buffer.allocUnsafeSlow(START_BYTES);
  #start = 0;
  #end = 0;

  /** The bytes in the queue, as a view that the next `append` invalidates. */
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

  /** Removes all bytes. Keeps the memory for reuse. */
  clear(): void {
    this.#start = 0;
    this.#end = 0;
  }

  /** Removes the first `count` bytes. */
  consume(count: number): void {
    this.#start += count;
  }
}

function roomFor(bytes: number): number {
  let room = START_BYTES;
  while (room < bytes) room *= 2;
  return room;
}
