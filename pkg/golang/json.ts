import { compareUtf8 } from "../text/compare.ts";
import { findMember, foldKey, isObject } from "./members.ts";

/** The property with a number that is kept as text, because 4.10 and 4.1 are different versions. */
const TYPE = "olm.maxOpenShiftVersion";

/** A number with its original text, which `JSON.stringify` writes. */
interface RawJson {
  readonly rawJSON: string;
}

type Reviver = (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown;

/** Functions of JSON that the compiler's type library does not declare. */
interface SourceAccess {
  parse(text: string, reviver: Reviver): unknown;
  rawJSON(text: string): RawJson;
  isRawJSON(value: unknown): value is RawJson;
}

/**
 * Parses JSON with JSON.parse; undefined if it is invalid. The error is not reported, because its
 * message would quote the text.
 */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Returns `value`, parsed from the JSON `text`, with the original text of the number in property olm.maxOpenShiftVersion. All other numbers stay as
 * parsed. Parses the document again only if it has such a number.
 */
export function keepNumberTokens(value: unknown, text: string): unknown {
  if (!hasNumber(value)) return value;
  const json = sourceAccess();
  return json.parse(text, function (key, member, { source }) {
    const isToken = typeof member === "number" && source !== undefined && isTyped(this) && foldKey(key) === "value";
    return isToken ? json.rawJSON(source) : member;
  });
}

/** Returns the text of a number that `keepNumberTokens` kept; undefined for everything else. */
export function getNumberToken(value: object): string | undefined {
  const json = sourceAccess();
  return "rawJSON" in value && json.isRawJSON(value) ? value.rawJSON : undefined;
}

function hasNumber(value: unknown): boolean {
  if (!isObject(value)) return false;
  const properties = findMember(value, "properties");
  return Array.isArray(properties) && properties.some((property) => isTyped(property) && typeof findMember(property, "value") === "number");
}

function isTyped(value: unknown): value is Record<string, unknown> {
  return isObject(value) && findMember(value, "type") === TYPE;
}

function sourceAccess(): SourceAccess {
  return JSON as unknown as SourceAccess;
}

/** Settings of Go's encoder. */
export interface GoJsonOptions {
  /** Whether to write `<`, `>` and `&` as `\u003c`, `\u003e` and `\u0026`, as Go does by default. Default true. */
  escapeHtml?: boolean;
  /**
   * Whether to sort members by the bytes of their keys, as Go prints maps. If false, keeps the caller's order, as Go prints structs. Default true.
   */
  sortKeys?: boolean;
}

/** Output of JSON.stringify that differs from Go: unescaped line separators, and escaped lone surrogates. */
const GO_DIFFERS = /[\u2028\u2029]|\\ud[89a-f]/i;
const GO_DIFFERS_HTML = /[\u2028\u2029<>&]|\\ud[89a-f]/i;
/** Code units from this one on have a different order in UTF-16 than in UTF-8. */
const BEYOND_BMP = /[\ud800-\uffff]/;

/** Texts of at least this length without escapes are not copied. */
const LONG_TEXT = 1_024;
// oxlint-disable-next-line no-control-regex -- matches ASCII from space to DEL, except quote and backslash
const PLAIN = /^[\u0020\u0021\u0023-\u005b\u005d-\u007f]*$/;

/** Receives the pieces of a JSON text in order. */
export type Emit = (piece: string) => void;

interface JsonFormat {
  sortKeys: boolean;
  text: (text: string, emit: Emit) => void;
}

/**
 * Formats `value` on one line as Go's encoder formats a map, without a trailing newline. Sorts keys by bytes and omits undefined members. Escapes
 * U+2028 and U+2029, but not HTML. A lone surrogate becomes U+FFFD, a bigint its digits, and a number with kept text that text.
 * @throws TypeError on NaN, infinities, functions and symbols
 */
export function encodeCanonicalJson(value: unknown): string {
  return collected({ sortKeys: true, text: emitText }, value);
}

/**
 * Like `encodeCanonicalJson`, but emits the text in pieces, without copying long texts. @throws TypeError as `encodeCanonicalJson`, possibly after
 * some pieces
 */
export function emitCanonicalJson(value: unknown, emit: Emit): void {
  encode(value, { sortKeys: true, text: emitText }, emit);
}

/**
 * Formats `value` on one line as Go's `json.Marshal` does, by default with HTML escapes and sorted keys.
 * @throws TypeError on NaN, infinities, functions and symbols
 * @see https://pkg.go.dev/encoding/json#Marshal
 */
export function encodeGoJson(value: unknown, { sortKeys = true, escapeHtml = true }: GoJsonOptions = {}): string {
  return collected({ sortKeys, text: escapeHtml ? emitHtmlText : emitText }, value);
}

function collected(format: JsonFormat, value: unknown): string {
  let out = "";
  encode(value, format, (piece) => {
    out += piece;
  });
  return out;
}

function encode(value: unknown, format: JsonFormat, emit: Emit): void {
  if (typeof value === "string") format.text(value, emit);
  else if (typeof value === "number") emit(goNumber(value));
  else if (typeof value === "boolean" || typeof value === "bigint") emit(String(value));
  else if (value === null || value === undefined) emit("null");
  else if (typeof value !== "object") throw new TypeError(`cannot encode a ${typeof value} as JSON`);
  else if (Array.isArray(value)) encodeList(value, format, emit);
  else encodeObject(value, format, emit);
}

function encodeList(list: readonly unknown[], format: JsonFormat, emit: Emit): void {
  emit("[");
  for (let i = 0; i < list.length; i++) {
    if (i > 0) emit(",");
    encode(list[i], format, emit);
  }
  emit("]");
}

function encodeObject(object: object, format: JsonFormat, emit: Emit): void {
  const token = getNumberToken(object);
  if (token !== undefined) return emit(token);
  const members = object as Readonly<Record<string, unknown>>;
  const keys = Object.keys(members);
  if (format.sortKeys) keys.sort(keys.some((key) => BEYOND_BMP.test(key)) ? compareUtf8 : undefined);
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

function goNumber(value: number): string {
  if (!Number.isFinite(value)) throw new TypeError(`cannot encode ${value} as JSON`);
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

/** Go's escapes by byte. The last byte of U+2028 and U+2029 represents all three. */
const ESCAPES: readonly (Uint8Array | undefined)[] = buildTable({ "<": "\\u003c", ">": "\\u003e", "&": "\\u0026" });
const LINE_ESCAPES: readonly (Uint8Array | undefined)[] = buildTable({ "\xa8": "\\u2028", "\xa9": "\\u2029" });
const [LINE_FIRST, LINE_SECOND, LINE_BYTES] = [0xe2, 0x80, 3];

/** Quotes a text as Go does. Replaces single bytes, because regular expressions take three times as long if most of the text is replaced. */
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

/** @param escapes escapes by character */
function buildTable(escapes: Readonly<Record<string, string>>): (Uint8Array | undefined)[] {
  return Array.from({ length: 256 }, (_, byte) => {
    const escape = escapes[String.fromCharCode(byte)];
    return escape === undefined ? undefined : Buffer.from(escape, "latin1");
  });
}

/** An escape of a surrogate: a lone one, or the first of a pair. */
const SURROGATE = /\\u[dD][89a-fA-F]/;
/** Every escape in a JSON text. A pair of surrogates is one match, so that only lone surrogates match separately. */
const ESCAPE = /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[dD](?<half>[89a-fA-F])[0-9a-fA-F]{2}|[^])/g;

/**
 * Replaces every escaped lone surrogate in a JSON text, including names, by an escape of U+FFFD, as Go's encoding/json does. JavaScript would keep
 * it, but UTF-8 cannot represent it, so rendered and applied objects would differ from those in the API server. Offsets do not change.
 * @see https://github.com/golang/go/blob/go1.25.0/src/encoding/json/decode.go unquoteBytes
 */
export function replaceLoneSurrogates(json: string): string {
  if (!SURROGATE.test(json)) return json;
  return json.replace(ESCAPE, (escape, half: string | undefined) => (half === undefined ? escape : "\\ufffd"));
}

/** A sequence of digits that may exceed the precision of a double. */
const LONG_NUMBER = /\d{16}/;
/** The largest integer of Go's int64. */
export const MAX_INT64 = 2n ** 63n - 1n;
const INTEGER = /^-?\d+$/;
type Parse = (text: string, reviver?: Reviver) => unknown;

/**
 * Parses JSON as Kubernetes does: integers beyond 2^53 become bigint, so that `encodeGoJson` writes the same digits, and those beyond int64 become
 * number. Lone surrogates become U+FFFD, as in Go.
 * @see https://github.com/kubernetes-sigs/json/blob/2d320260d730/README.md
 * @throws SyntaxError
 */
export function parseExactJson(json: string): unknown {
  const text = replaceLoneSurrogates(json);
  if (!LONG_NUMBER.test(text)) return JSON.parse(text);
  const parse = JSON.parse as Parse;
  return parse(text, (_key, value, { source }) => {
    if (typeof value !== "number" || Number.isSafeInteger(value) || source === undefined || !INTEGER.test(source)) return value;
    const integer = BigInt(source);
    return integer >= -MAX_INT64 - 1n && integer <= MAX_INT64 ? integer : value;
  });
}

/**
 * Formats JSON as `JSON.stringify` does, with bigints as digits; the inverse of `parseExactJson`.
 * @param value undefined is written as null
 * @param indent blanks for each level; without it, the text is on one line
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
 * Indents one-line JSON as Go's encoder does: members and elements on their own lines, empty objects and lists unchanged.
 * @param json without white space between tokens
 */
export function indentJson(json: string, spaces: number): string {
  const pieces: string[] = [];
  let depth = 0;
  let start = 0;
  const newLine = (): string => `\n${" ".repeat(depth * spaces)}`;
  for (let at = 0; at < json.length; at++) {
    const char = json[at];
    if (char === '"') {
      at = findStringEnd(json, at);
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

/** Returns the index of the closing quote of the string that begins at `from`. */
export function findStringEnd(json: string, from: number): number {
  for (let end = json.indexOf('"', from + 1); end >= 0; end = json.indexOf('"', end + 1)) {
    let escapes = 0;
    while (json[end - 1 - escapes] === "\\") escapes++;
    if (escapes % 2 === 0) return end;
  }
  return json.length;
}
