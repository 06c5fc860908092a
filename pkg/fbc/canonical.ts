import { numberToken } from "./numberTokens.ts";

/** How Go's encoder is set. */
export interface GoJsonOptions {
  /** `<`, `>` and `&` become `\u003c`, `\u003e` and `\u0026`, as Go does unless told otherwise. Default true. */
  escapeHtml?: boolean;
  /** Members of an object in byte order of their keys, as Go prints maps; false keeps the caller's order, as Go prints structs. Default true. */
  sortKeys?: boolean;
}

/** What JSON.stringify leaves alone (or escapes as a lone surrogate) and Go writes differently. */
const GO_DIFFERS = /[\u2028\u2029]|\\ud[89a-f]/i;
const GO_DIFFERS_HTML = /[\u2028\u2029<>&]|\\ud[89a-f]/i;
/** From here on UTF-16 order and byte order of UTF-8 part ways. */
const BEYOND_BMP = /[\ud800-\uffff]/;

/** Texts of at least this length that need no escapes are passed on as they are instead of being copied. */
const LONG_TEXT = 1_024;
// oxlint-disable-next-line no-control-regex -- what lies between the control characters and DEL, without quote and backslash
const PLAIN = /^[\u0020\u0021\u0023-\u005b\u005d-\u007f]*$/;

/** Takes the pieces of a JSON text in order. */
export type Emit = (piece: string) => void;

interface Format {
  sortKeys: boolean;
  text: (text: string, emit: Emit) => void;
}

/**
 * `value` on one line as Go's encoder of a map prints it: keys sorted by bytes, no HTML escapes, U+2028 and U+2029 escaped,
 * lone surrogates as U+FFFD, bigint as digits, a number that kept its text as that. Members that are undefined are left out. No newline at the end.
 * @throws TypeError on NaN, infinities, functions and symbols.
 */
export function canonicalJson(value: unknown): string {
  return collected({ sortKeys: true, text: emitText }, value);
}

/** The same in pieces, for writers: long texts are not copied. @throws TypeError as `canonicalJson`, possibly after some pieces. */
export function emitCanonicalJson(value: unknown, emit: Emit): void {
  encode(value, { sortKeys: true, text: emitText }, emit);
}

/**
 * `value` on one line as Go's `json.Marshal` prints it, by default with HTML escapes and sorted keys.
 * @throws TypeError on NaN, infinities, functions and symbols.
 * @see https://pkg.go.dev/encoding/json#Marshal
 */
export function goJson(value: unknown, { sortKeys = true, escapeHtml = true }: GoJsonOptions = {}): string {
  return collected({ sortKeys, text: escapeHtml ? emitHtmlText : emitText }, value);
}

function collected(format: Format, value: unknown): string {
  let out = "";
  encode(value, format, (piece) => {
    out += piece;
  });
  return out;
}

function encode(value: unknown, format: Format, emit: Emit): void {
  if (typeof value === "string") format.text(value, emit);
  else if (typeof value === "number") emit(goNumber(value));
  else if (typeof value === "boolean" || typeof value === "bigint") emit(String(value));
  else if (value === null || value === undefined) emit("null");
  else if (typeof value !== "object") throw new TypeError(`a ${typeof value} has no JSON form`);
  else if (Array.isArray(value)) encodeList(value, format, emit);
  else encodeObject(value, format, emit);
}

function encodeList(list: readonly unknown[], format: Format, emit: Emit): void {
  emit("[");
  for (let i = 0; i < list.length; i++) {
    if (i > 0) emit(",");
    encode(list[i], format, emit);
  }
  emit("]");
}

function encodeObject(object: object, format: Format, emit: Emit): void {
  const token = numberToken(object);
  if (token !== undefined) return emit(token);
  const members = object as Readonly<Record<string, unknown>>;
  const keys = Object.keys(members);
  if (format.sortKeys) keys.sort(keys.some((key) => BEYOND_BMP.test(key)) ? compareBytes : undefined);
  let before = "{";
  for (const key of keys) {
    const member = members[key];
    if (member === undefined) continue;
    emit(before);
    format.text(key, emit);
    emit(":");
    encode(member, format, emit);
    before = ",";
  }
  emit(before === "{" ? "{}" : "}");
}

function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

function goNumber(value: number): string {
  if (!Number.isFinite(value)) throw new TypeError(`${value} has no JSON form`);
  return Object.is(value, -0) ? "-0" : String(value);
}

function emitText(text: string, emit: Emit): void {
  if (text.length >= LONG_TEXT && PLAIN.test(text)) {
    emit('"');
    emit(text);
    emit('"');
    return;
  }
  const quoted = JSON.stringify(text);
  emit(GO_DIFFERS.test(quoted) ? quoteAsGo(text, false) : quoted);
}

function emitHtmlText(text: string, emit: Emit): void {
  const quoted = JSON.stringify(text);
  emit(GO_DIFFERS_HTML.test(quoted) ? quoteAsGo(text, true) : quoted);
}

/** What Go writes for a byte. The last byte of U+2028 and U+2029 stands for all three. */
const ESCAPES: readonly (Uint8Array | undefined)[] = tableOf({ "<": "\\u003c", ">": "\\u003e", "&": "\\u0026" });
const LINE_ESCAPES: readonly (Uint8Array | undefined)[] = tableOf({ "\xa8": "\\u2028", "\xa9": "\\u2029" });
const [LINE_FIRST, LINE_SECOND, LINE_BYTES] = [0xe2, 0x80, 3];

/** Quotes a text as Go does. Replaces bytes, as replacing patterns takes three times as long when most of a text is replaced. */
function quoteAsGo(text: string, isHtml: boolean): string {
  const bytes = Buffer.from(JSON.stringify(text.toWellFormed()));
  const escapeAt = (at: number): Uint8Array | undefined => {
    const byte = bytes[at] as number;
    if (byte === LINE_FIRST) return bytes[at + 1] === LINE_SECOND ? LINE_ESCAPES[bytes[at + 2] as number] : undefined;
    return isHtml ? ESCAPES[byte] : undefined;
  };
  const escaped = (at: number): number => (bytes[at] === LINE_FIRST ? LINE_BYTES : 1);
  let length = bytes.byteLength;
  for (let at = 0; at < bytes.byteLength; at++) {
    const escape = escapeAt(at);
    if (escape) length += escape.byteLength - escaped(at);
  }
  const out = Buffer.allocUnsafe(length);
  let to = 0;
  for (let at = 0; at < bytes.byteLength; at++) {
    const escape = escapeAt(at);
    if (escape) {
      for (let i = 0; i < escape.byteLength; i++) out[to++] = escape[i] as number;
      at += escaped(at) - 1;
    } else out[to++] = bytes[at] as number;
  }
  return out.toString();
}

/** @param escapes by the character with the number of the byte. */
function tableOf(escapes: Readonly<Record<string, string>>): (Uint8Array | undefined)[] {
  return Array.from({ length: 256 }, (_, byte) => {
    const escape = escapes[String.fromCharCode(byte)];
    return escape === undefined ? undefined : Buffer.from(escape, "latin1");
  });
}
