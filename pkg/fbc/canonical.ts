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

/**
 * `value` on one line as Go's encoder of a map prints it: keys sorted by bytes, no HTML escapes, U+2028 and U+2029 escaped,
 * lone surrogates as U+FFFD, bigint as digits. Members that are undefined are left out. No newline at the end.
 * @throws TypeError on NaN, infinities, functions and symbols.
 */
export function canonicalJson(value: unknown): string {
  return encode(value, true, goString);
}

/**
 * `value` on one line as Go's `json.Marshal` prints it, by default with HTML escapes and sorted keys.
 * @throws TypeError on NaN, infinities, functions and symbols.
 * @see https://pkg.go.dev/encoding/json#Marshal
 */
export function goJson(value: unknown, options: GoJsonOptions = {}): string {
  return encode(value, options.sortKeys ?? true, (options.escapeHtml ?? true) ? goHtmlString : goString);
}

function encode(value: unknown, sortKeys: boolean, string: (text: string) => string): string {
  if (typeof value === "string") return string(value);
  if (typeof value === "number") return goNumber(value);
  if (typeof value === "boolean" || typeof value === "bigint") return String(value);
  if (value === null || value === undefined) return "null";
  if (typeof value !== "object") throw new TypeError(`a ${typeof value} has no JSON form`);
  return Array.isArray(value) ? encodeList(value, sortKeys, string) : encodeObject(value, sortKeys, string);
}

function encodeList(list: readonly unknown[], sortKeys: boolean, string: (text: string) => string): string {
  let out = "[";
  for (let i = 0; i < list.length; i++) out += (i === 0 ? "" : ",") + encode(list[i], sortKeys, string);
  return `${out}]`;
}

function encodeObject(object: object, sortKeys: boolean, string: (text: string) => string): string {
  const members = object as Readonly<Record<string, unknown>>;
  const keys = Object.keys(members);
  if (sortKeys) keys.sort(keys.some((key) => BEYOND_BMP.test(key)) ? compareBytes : undefined);
  let out = "{";
  for (const key of keys) {
    const member = members[key];
    if (member === undefined) continue;
    out += `${out === "{" ? "" : ","}${string(key)}:${encode(member, sortKeys, string)}`;
  }
  return `${out}}`;
}

function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

function goNumber(value: number): string {
  if (!Number.isFinite(value)) throw new TypeError(`${value} has no JSON form`);
  return Object.is(value, -0) ? "-0" : String(value);
}

function goString(text: string): string {
  const quoted = JSON.stringify(text);
  return GO_DIFFERS.test(quoted) ? escapeLineSeparators(JSON.stringify(text.toWellFormed())) : quoted;
}

function goHtmlString(text: string): string {
  const quoted = JSON.stringify(text);
  if (!GO_DIFFERS_HTML.test(quoted)) return quoted;
  return escapeLineSeparators(JSON.stringify(text.toWellFormed())).replace(/[<>&]/g, (c) => `\\u00${c.charCodeAt(0).toString(16)}`);
}

function escapeLineSeparators(quoted: string): string {
  return quoted.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}
