import { isAscii } from "node:buffer";

/** Receives the raw text of a JSON string in pieces. No piece ends within an escape or a character. */
export interface StringSink {
  add(piece: Uint8Array): void;
  /** Called at the end of the string. */
  end(): void;
}

/** How to handle a value: read its members, ignore it, capture its text, or pass the text of a string to a sink. */
export type Visit = "enter" | "skip" | "capture" | StringSink;

/** Receives the values of a JSON text in order. */
export interface JsonVisitor {
  /** Called at the start of a value, with its first byte. Only lists and objects can be entered, and only strings can have a sink. */
  begin(first: number): Visit;
  /** Called for each member of an entered object, before its value. @param text the name as JSON. */
  key(text: string): void;
  /** Called at the end of a value that was entered or captured. @param text the captured text. */
  end(text?: string): void;
}

/** Thrown for the first error in invalid JSON. The message quotes at most one character. */
export class JsonSyntaxError extends SyntaxError {}

const [QUOTE, BACKSLASH, COMMA, COLON, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x22, 0x5c, 0x2c, 0x3a, 0x5b, 0x5d, 0x7b, 0x7d];
const [LOWER_U, NEWLINE, FIRST_PRINTABLE] = [0x75, 0x0a, 0x20];
const SPACES = toBytes(" \t\r\n");
const SIMPLE_ESCAPES = toBytes('"\\/bfnrt');
const HEX = toBytes("0123456789abcdefABCDEF");
const TOKEN = toBytes("0123456789+-.eEtrufalsn");
/** Length of an escape such as `\u00e9`. */
const ESCAPE_BYTES = 6;
/** Maximum length of a UTF-8 character. */
const CHARACTER_BYTES = 4;
/** The number, true, false or null at the start of a text. */
const SCALAR = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/;
/** Maximum length of a number. */
const MAX_TOKEN = 65_536;
/** If JSON is invalid and nested deeper than this, the nesting is reported as the fault. */
const MAX_DEPTH = 1_000;

/** The expected token, after optional white space. */
type State = "value" | "firstItem" | "key" | "firstKey" | "colon" | "next" | "end";

/**
 * Reads a JSON text in pieces, in linear time, and keeps only the text that the visitor captures. Accepts what JSON.parse accepts, except numbers of
 * more than 65,536 characters, and reports the same faults as `findJsonSyntaxFault`.
 */
export class JsonScanner {
  readonly #visitor: JsonVisitor;
  readonly #open: number[] = [];
  #state: State = "value";
  #bytes: Buffer = Buffer.alloc(0);
  /** Index in `#bytes` of the next byte to read. */
  #at = 0;
  /** How the current value is handled. A value that is not entered ends when the bracket depth is `#depth` again. */
  #visit: Visit = "enter";
  #depth = 0;
  /** Earlier bytes of the captured text, and the index in `#bytes` at which the captured text continues. */
  #captured: Uint8Array[] | undefined;
  #captureFrom = 0;
  /** The current string, and the index in `#bytes` at which it begins, unless it began in an earlier piece. */
  #string: { readonly isKey: boolean; from: number; place: string } | undefined;
  #line = 1;
  /** Number of UTF-16 code units in the current line before `#lineFrom`. */
  #units = 0;
  #lineFrom = 0;
  #tooDeep: JsonSyntaxError | undefined;

  constructor(visitor: JsonVisitor) {
    this.#visitor = visitor;
  }

  /** Reads the next bytes of the text. The caller must not change them afterwards. @throws JsonSyntaxError */
  add(bytes: Uint8Array): void {
    const rest = this.#bytes;
    const next = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#bytes = rest.byteLength === 0 ? next : Buffer.concat([rest, next]);
    this.#run(false);
    this.#keepRest();
  }

  /** Reads the remaining bytes. Call it after the whole text was added. @throws JsonSyntaxError */
  end(): void {
    this.#run(true);
    if (this.#string) throw this.#stringFault();
    if (this.#state !== "end") throw this.#fault("unexpected end");
  }

  /** Drops processed bytes. */
  #keepRest(): void {
    if (this.#string && this.#string.from >= 0) {
      this.#string.place = this.#placeOf(this.#string.from);
      this.#string.from = -1;
    }
    this.#captured?.push(this.#bytes.subarray(this.#captureFrom, this.#at));
    this.#captureFrom = 0;
    this.#units = this.#unitsUntil(this.#at);
    this.#lineFrom = 0;
    this.#bytes = this.#bytes.subarray(this.#at);
    this.#at = 0;
  }

  /** Reads `#bytes` up to the last complete token. @param isAll whether they are the last bytes of the text. */
  #run(isAll: boolean): void {
    for (;;) {
      if (this.#string) {
        if (!this.#readString(this.#string, isAll)) return;
        continue;
      }
      this.#skipSpaces();
      const byte = this.#bytes[this.#at];
      if (byte === undefined) return;
      if (this.#state === "value" || (this.#state === "firstItem" && byte !== CLOSE_LIST)) {
        if (!this.#beginValue(byte, isAll)) return;
      } else this.#readMark(byte);
    }
  }

  #skipSpaces(): void {
    const bytes = this.#bytes;
    let at = this.#at;
    for (; SPACES[bytes[at] ?? 0] === 1; at++) {
      if (bytes[at] !== NEWLINE) continue;
      this.#line++;
      this.#units = 0;
      this.#lineFrom = at + 1;
    }
    this.#at = at;
  }

  /** Reads a closing bracket, a comma, a colon, or the quote before a name. */
  #readMark(byte: number): void {
    const state = this.#state;
    const isObject = this.#open.at(-1) === OPEN_OBJECT;
    if (state === "end") throw this.#fault("unexpected text after the value");
    if (state === "colon") {
      if (byte !== COLON) throw this.#fault('expected ":" after a key');
      this.#state = "value";
      this.#at++;
    } else if (state !== "key" && byte === (isObject ? CLOSE_OBJECT : CLOSE_LIST)) {
      this.#open.pop();
      this.#at++;
      this.#endValue();
    } else if (state === "next") {
      if (byte !== COMMA) throw this.#fault(`expected "," or "${isObject ? "}" : "]"}"`);
      this.#state = isObject ? "key" : "value";
      this.#at++;
    } else {
      if (byte !== QUOTE) throw this.#fault("expected a key in double quotes");
      if (this.#visit === "enter") this.#capture();
      this.#beginString(true);
    }
  }

  /** @returns false when more bytes are needed. */
  #beginValue(byte: number, isAll: boolean): boolean {
    if (this.#open.length > MAX_DEPTH) this.#tooDeep ??= this.#fault("nested too deeply");
    const isContainer = byte === OPEN_LIST || byte === OPEN_OBJECT;
    const token = isContainer || byte === QUOTE ? 0 : this.#tokenBytes(byte, isAll);
    if (token === undefined) return false;
    if (this.#visit === "enter") {
      this.#visit = this.#visitor.begin(byte);
      this.#depth = this.#open.length;
      if (this.#visit === "capture") this.#capture();
    }
    if (byte === QUOTE) this.#beginString(false);
    else if (isContainer) {
      this.#open.push(byte);
      this.#state = byte === OPEN_LIST ? "firstItem" : "firstKey";
      this.#at++;
    } else {
      this.#at += token;
      this.#endValue();
    }
    return true;
  }

  #endValue(): void {
    this.#state = this.#open.length === 0 ? "end" : "next";
    const visit = this.#visit;
    if (visit === "enter") this.#visitor.end();
    else if (this.#open.length === this.#depth) {
      this.#visit = "enter";
      if (visit === "capture") this.#visitor.end(this.#takeCaptured());
      else if (visit !== "skip") visit.end();
    }
  }

  /** Returns the length of the number or literal at the current position; undefined if more bytes are needed. */
  #tokenBytes(first: number, isAll: boolean): number | undefined {
    const bytes = this.#bytes;
    let end = this.#at;
    while (TOKEN[bytes[end] ?? 0] === 1) end++;
    if (end - this.#at > MAX_TOKEN) throw this.#fault(`number is longer than ${MAX_TOKEN} characters`);
    const most = first < 0x80 ? end : this.#at + CHARACTER_BYTES - 1;
    if (!isAll && most >= bytes.byteLength) return undefined;
    const found = SCALAR.exec(bytes.toString("latin1", this.#at, end));
    if (found) return found[0].length;
    const character = String.fromCodePoint(bytes.toString("utf8", this.#at, this.#at + CHARACTER_BYTES).codePointAt(0) ?? 0);
    throw this.#fault(`unexpected character ${JSON.stringify(character)}, expected a value`);
  }

  #beginString(isKey: boolean): void {
    this.#string = { isKey, from: this.#at, place: "" };
    this.#at++;
  }

  /** @returns false when more bytes are needed. */
  #readString({ isKey }: { readonly isKey: boolean }, isAll: boolean): boolean {
    const bytes = this.#bytes;
    const from = this.#at;
    let end = from;
    let byte = bytes[end];
    while (byte !== undefined && byte !== QUOTE) {
      if (byte < FIRST_PRINTABLE) throw this.#stringFault();
      const length = byte === BACKSLASH ? this.#escapeBytes(end) : 1;
      if (length === 0) break;
      end += length;
      byte = bytes[end];
    }
    const hasEnded = byte === QUOTE;
    if (byte === undefined && !isAll) end = wholeCharacters(bytes, from, end);
    this.#at = end;
    if (typeof this.#visit === "object" && end > from) this.#visit.add(bytes.subarray(from, end));
    if (!hasEnded) return false;
    this.#at++;
    this.#string = undefined;
    if (!isKey) this.#endValue();
    else {
      this.#state = "colon";
      if (this.#visit === "enter") this.#visitor.key(this.#takeCaptured());
    }
    return true;
  }

  /** Returns the length of the escape at `at`; 0 if more bytes are needed. */
  #escapeBytes(at: number): number {
    const bytes = this.#bytes;
    const kind = bytes[at + 1];
    if (kind === undefined) return 0;
    if (SIMPLE_ESCAPES[kind] === 1) return 2;
    if (kind !== LOWER_U) throw this.#stringFault();
    for (let i = at + 2; i < at + ESCAPE_BYTES; i++) {
      const digit = bytes[i];
      if (digit === undefined) return 0;
      if (HEX[digit] !== 1) throw this.#stringFault();
    }
    return ESCAPE_BYTES;
  }

  #capture(): void {
    this.#captured = [];
    this.#captureFrom = this.#at;
  }

  #takeCaptured(): string {
    const last = this.#bytes.subarray(this.#captureFrom, this.#at);
    const earlier = this.#captured ?? [];
    this.#captured = undefined;
    return earlier.length === 0 ? last.toString("utf8") : Buffer.concat([...earlier, last]).toString("utf8");
  }

  #stringFault(): JsonSyntaxError {
    const { from = 0, place = "" } = this.#string ?? {};
    const reason = "invalid string: it is unterminated, or contains a control character or an unknown escape";
    return this.#tooDeep ?? new JsonSyntaxError(`${from < 0 ? place : this.#placeOf(from)}: ${reason}`);
  }

  /** Returns the fault at the current position, unless the JSON is nested too deeply: that fault takes precedence. */
  #fault(reason: string): JsonSyntaxError {
    return this.#tooDeep ?? new JsonSyntaxError(`${this.#placeOf(this.#at)}: ${reason}`);
  }

  #placeOf(at: number): string {
    return `line ${this.#line}, column ${this.#unitsUntil(at) + 1}`;
  }

  #unitsUntil(at: number): number {
    const line = this.#bytes.subarray(this.#lineFrom, at);
    return this.#units + (isAscii(line) ? line.byteLength : line.toString("utf8").length);
  }
}

/** Returns the end of the last complete character. */
function wholeCharacters(bytes: Uint8Array, from: number, end: number): number {
  for (let at = end - 1; at >= Math.max(from, end - CHARACTER_BYTES + 1); at--) {
    const byte = bytes[at] ?? 0;
    if (byte < 0x80) return end;
    if (byte < 0xc0) continue;
    const length = byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : CHARACTER_BYTES;
    return at + length > end ? at : end;
  }
  return end;
}

function toBytes(characters: string): Uint8Array {
  const found = new Uint8Array(256);
  for (const character of characters) found[character.charCodeAt(0)] = 1;
  return found;
}
