import { foldKey, isObject, memberOf } from "./members.ts";

/** The property whose number is read as it is written, since 4.10 is another version than 4.1. */
const TYPE = "olm.maxOpenShiftVersion";

/** A number with the text it was written with; `JSON.stringify` writes that. */
interface RawJson {
  readonly rawJSON: string;
}

type Reviver = (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown;

/** The part of JSON that the compiler's library does not know yet. */
interface SourceAccess {
  parse(text: string, reviver: Reviver): unknown;
  rawJSON(text: string): RawJson;
  isRawJSON(value: unknown): value is RawJson;
}

/**
 * `value`, parsed from the JSON `text`, with the number of property olm.maxOpenShiftVersion as it is written. Every other number, and every
 * document without one there, stays as it was parsed; only such a document is parsed again.
 */
export function withNumberTokens(value: unknown, text: string): unknown {
  if (!hasNumber(value)) return value;
  const json = sourceAccess();
  return json.parse(text, function (key, member, { source }) {
    const isToken = typeof member === "number" && source !== undefined && isTyped(this) && foldKey(key) === "value";
    return isToken ? json.rawJSON(source) : member;
  });
}

/** The text of a number that `withNumberTokens` kept; undefined for everything else. */
export function numberToken(value: object): string | undefined {
  const json = sourceAccess();
  return "rawJSON" in value && json.isRawJSON(value) ? value.rawJSON : undefined;
}

function hasNumber(value: unknown): boolean {
  if (!isObject(value)) return false;
  const properties = memberOf(value, "properties");
  return Array.isArray(properties) && properties.some((property) => isTyped(property) && typeof memberOf(property, "value") === "number");
}

function isTyped(value: unknown): value is Record<string, unknown> {
  return isObject(value) && memberOf(value, "type") === TYPE;
}

function sourceAccess(): SourceAccess {
  return JSON as unknown as SourceAccess;
}

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

/** An escape of a surrogate: half of a character, or the first part of a whole one. */
const SURROGATE = /\\u[dD][89a-fA-F]/;
/** Every escape of a JSON text; a pair of surrogates is one, so that what is left alone is whole. */
const ESCAPE = /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[dD](?<half>[89a-fA-F])[0-9a-fA-F]{2}|[^])/g;

/**
 * A JSON text with an escape of U+FFFD in place of every escaped half of a character, in names too, as Go's encoding/json reads them.
 * JavaScript would keep the half, which UTF-8 cannot hold: what was rendered, compared and applied would differ from what the API server stores.
 * Positions in the text stay the same.
 * @see https://github.com/golang/go/blob/go1.25.0/src/encoding/json/decode.go unquoteBytes
 */
export function withoutHalves(json: string): string {
  if (!SURROGATE.test(json)) return json;
  return json.replace(ESCAPE, (escape, half: string | undefined) => (half === undefined ? escape : "\\ufffd"));
}

/** A run of digits that a double may not hold exactly. */
const LONG_NUMBER = /\d{16}/;
/** The largest integer of Go's int64. */
export const MAX_INT64 = 2n ** 63n - 1n;
const INTEGER = /^-?\d+$/;
type Parse = (text: string, reviver?: Reviver) => unknown;

/**
 * Parses JSON as Kubernetes does: integers beyond 2^53 come as bigint, so that `goJson` writes back the digits that were read, and those that int64
 * does not hold as number. Half of a character becomes U+FFFD, as in Go.
 * @see https://github.com/kubernetes-sigs/json/blob/2d320260d730/README.md
 * @throws SyntaxError
 */
export function parseExactJson(json: string): unknown {
  const text = withoutHalves(json);
  if (!LONG_NUMBER.test(text)) return JSON.parse(text);
  const parse = JSON.parse as Parse;
  return parse(text, (_key, value, { source }) => {
    if (typeof value !== "number" || Number.isSafeInteger(value) || source === undefined || !INTEGER.test(source)) return value;
    const integer = BigInt(source);
    return integer >= -MAX_INT64 - 1n && integer <= MAX_INT64 ? integer : value;
  });
}

/**
 * Returns JSON as `JSON.stringify` prints it, with integers that came as bigint in digits: what `parseExactJson` reads.
 * @param value undefined is null.
 * @param indent blanks for each level; without it the text is on one line.
 */
export function writeExactJson(value: unknown, indent?: number): string {
  const json = sourceAccess();
  return JSON.stringify(
    value ?? null,
    (_key, member: unknown) => (typeof member === "bigint" ? json.rawJSON(String(member)) : member),
    indent,
  );
}

/**
 * JSON on one line as Go's encoder indents it: members and elements on lines of their own, empty objects and lists in one piece.
 * @param json without white space between tokens.
 */
export function indentJson(json: string, spaces: number): string {
  const pieces: string[] = [];
  let depth = 0;
  let start = 0;
  const newLine = (): string => `\n${" ".repeat(depth * spaces)}`;
  for (let at = 0; at < json.length; at++) {
    const char = json[at];
    if (char === '"') {
      at = stringEnd(json, at);
      continue;
    }
    const opens = char === "{" || char === "[";
    if (!opens && char !== "}" && char !== "]" && char !== "," && char !== ":") continue;
    const isEmpty = opens && (json[at + 1] === "}" || json[at + 1] === "]");
    if (isEmpty) {
      at++;
      continue;
    }
    const closes = char === "}" || char === "]";
    pieces.push(json.slice(start, closes ? at : at + 1));
    start = closes ? at : at + 1;
    if (opens) depth++;
    if (closes) depth--;
    pieces.push(char === ":" ? " " : newLine());
  }
  return pieces.join("") + json.slice(start);
}

/** Where the string that begins at `from` has its closing quote. */
export function stringEnd(json: string, from: number): number {
  for (let end = json.indexOf('"', from + 1); end >= 0; end = json.indexOf('"', end + 1)) {
    let escapes = 0;
    while (json[end - 1 - escapes] === "\\") escapes++;
    if (escapes % 2 === 0) return end;
  }
  return json.length;
}
