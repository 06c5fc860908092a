import { getNumberToken } from "./json.ts";
import { isObject } from "./members.ts";

/** The possible styles of a text. */
interface Allowed {
  plain: boolean;
  single: boolean;
  block: boolean;
}

/** YAML 1.1 words that are not strings. */
const WORDS =
  /^(?:~|null|Null|NULL|[yYnN]|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF|true|True|TRUE|false|False|FALSE|\.nan|\.NaN|\.NAN|[+-]?\.(?:inf|Inf|INF))$/;
const INTEGER = /^[+-]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]*|[1-9][0-9]*)$/;
const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
const BASE_60 = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/;
const DATE = String.raw`\d{4}-\d{1,2}-\d{1,2}`;
const TIME = String.raw`\d{1,2}:\d{1,2}:\d{1,2}(?:\.\d+)?`;
/** Timestamps: with a time zone after `T`, without one after a space. */
const TIMESTAMP = new RegExp(`^${DATE}(?:[Tt]${TIME}(?:Z|[+-]\\d\\d:\\d\\d)| ${TIME})?$`);
/**
 * Characters that go-yaml escapes: control characters except the line feed, the byte order mark, two noncharacters, and characters beyond the basic
 * plane.
 */
// oxlint-disable-next-line no-control-regex -- the pattern must match control characters
const SPECIAL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\ufeff\ufffe\uffff\u{10000}-\u{10ffff}]/u;
const FIRST_INDICATOR = /^(?:[#,[\]{}&*!|>'"%@`]|[?:-](?:[ \t]|$))/;
const ESCAPED = new Map([
  [0x00, "\\0"],
  [0x07, "\\a"],
  [0x08, "\\b"],
  [0x09, "\\t"],
  [0x0a, "\\n"],
  [0x0b, "\\v"],
  [0x0c, "\\f"],
  [0x0d, "\\r"],
  [0x1b, "\\e"],
  [0x22, '\\"'],
  [0x5c, "\\\\"],
  [0x85, "\\N"],
]);

/** Column from which a line is broken at the next single space. */
const WIDTH = 80;

/** The position of a text. */
interface ScalarPlace {
  /** Number of characters before the text on its line. */
  readonly column: number;
  /** Indentation of the following lines; undefined for a key, which has only one line. */
  readonly indent: number | undefined;
}

/**
 * Formats a text as go-yaml does: unquoted if it is read as a string, as a block if it has several lines, otherwise quoted. Breaks lines after column
 * 80.
 */
function yamlScalar(text: string, place: ScalarPlace): string {
  const allowed = allowedForms(text);
  if (text.includes("\n")) {
    return allowed.block && place.indent !== undefined ? literalBlock(text, place.indent) : doubleQuoted(text, place);
  }
  if (!isText(text)) return doubleQuoted(text, place);
  if (allowed.plain) return folded(text, place, (char) => char, false);
  if (!allowed.single) return doubleQuoted(text, place);
  return `'${folded(text, { ...place, column: place.column + 1 }, (char) => (char === "'" ? "''" : char), true)}'`;
}

/** Reports whether YAML 1.1 reads unquoted `text` as a string. */
function isText(text: string): boolean {
  if (text === "" || WORDS.test(text)) return false;
  if (!/^[-+.0-9]/.test(text)) return true;
  const digits = text.replaceAll("_", "");
  return !(TIMESTAMP.test(text) || INTEGER.test(digits) || FLOAT.test(digits) || BASE_60.test(text));
}

function allowedForms(text: string): Allowed {
  const special = SPECIAL.test(text);
  const spaceBeforeBreak = / \n/.test(text);
  const breakBeforeSpace = /\n /.test(text);
  const single = !special && !spaceBeforeBreak && !breakBeforeSpace;
  const edges = /^[ \n]|[ \n]$/.test(text);
  const indicators = FIRST_INDICATOR.test(text) || /^(?:---|\.\.\.)/.test(text) || /:(?:[ \t]|$)/.test(text) || /[ \t\n]#/.test(text);
  return {
    single,
    plain: single && !edges && !indicators && !text.includes("\n"),
    block: !special && !spaceBeforeBreak && !text.endsWith(" "),
  };
}

function literalBlock(text: string, indent: number): string {
  const hint = /^[ \n]/.test(text) ? "2" : "";
  const chomping = text.endsWith("\n") ? (text === "\n" || text.endsWith("\n\n") ? "+" : "") : "-";
  const margin = " ".repeat(indent);
  const body = text.endsWith("\n") ? text.slice(0, -1) : text;
  const lines = body.split("\n").map((line) => (line === "" ? "" : margin + line));
  return `|${hint}${chomping}\n${lines.join("\n")}`;
}

function doubleQuoted(text: string, place: ScalarPlace): string {
  return `"${folded(text, { ...place, column: place.column + 1 }, escaped, true, "\\")}"`;
}

function escaped(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  const escape = ESCAPED.get(code);
  if (escape !== undefined) return escape;
  if (!SPECIAL.test(char)) return char;
  if (code <= 0xff) return `\\x${hex(code, 2)}`;
  return code <= 0xffff ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
}

/**
 * Formats the characters of `text` with `write`, and replaces single spaces beyond the width by line breaks.
 * @param quoted whether spaces at its ends cannot be breaks
 * @param continued prefix of a line that starts with a space; undefined to make no break there
 */
function folded(
  text: string,
  { column, indent }: ScalarPlace,
  write: (char: string) => string,
  quoted: boolean,
  continued?: string,
): string {
  const chars = Array.from(text);
  const pieces: string[] = [];
  let at = column;
  let afterSpace = false;
  for (const [i, char] of chars.entries()) {
    const isEdge = quoted && (i === 0 || i === chars.length - 1);
    const beforeSpace = chars[i + 1] === " ";
    if (char === " " && indent !== undefined && !afterSpace && at > WIDTH && !isEdge && (!beforeSpace || continued !== undefined)) {
      pieces.push("\n", " ".repeat(indent), beforeSpace ? (continued ?? "") : "");
      at = indent + (beforeSpace ? 1 : 0);
    } else {
      const written = write(char);
      pieces.push(written);
      at += written.length === char.length ? 1 : written.length;
    }
    afterSpace = char === " ";
  }
  return pieces.join("");
}

function hex(code: number, digits: number): string {
  return code.toString(16).toUpperCase().padStart(digits, "0");
}

const STEP = 2;
const LETTER = /\p{L}/u;
const DIGIT = /[0-9]/;

/**
 * Formats `value` as one YAML document like sigs.k8s.io/yaml, and therefore opm: sorts members by name and numbers in names by value, does not indent
 * lists, writes texts with several lines as blocks, and uses quotes only if necessary.
 * @throws TypeError for values that JSON cannot represent
 * @see https://github.com/kubernetes-sigs/yaml/blob/v1.6.0/yaml.go JSONToYAML
 */
export function encodeGoYaml(value: object): string {
  const out: string[] = [];
  node(value, 0, "", out);
  return out.join("");
}

/** Writes `value` on a line that begins with `lead`. */
function node(value: unknown, indent: number, lead: string, out: string[]): void {
  if (Array.isArray(value) && value.length > 0) {
    list(value, indent, lead, out);
  } else if (isObject(value) && getNumberToken(value) === undefined && Object.keys(value).length > 0) {
    members(value, indent, lead, out);
  } else {
    out.push(`${lead}${scalar(value, { column: lead.length, indent })}\n`);
  }
}

function list(items: readonly unknown[], indent: number, lead: string, out: string[]): void {
  let before = lead;
  for (const item of items) {
    node(item, indent + STEP, `${before}- `, out);
    before = " ".repeat(indent);
  }
}

function members(object: Readonly<Record<string, unknown>>, indent: number, lead: string, out: string[]): void {
  let before = lead;
  const keys = Object.keys(object).filter((key) => object[key] !== undefined);
  for (const key of keys.sort(compareKeys)) {
    const value = object[key];
    const name = `${before}${yamlScalar(key, { column: before.length, indent: undefined })}:`;
    before = " ".repeat(indent);
    const isList = Array.isArray(value) && value.length > 0;
    const isMap = isObject(value) && getNumberToken(value) === undefined && Object.keys(value).length > 0;
    if (isList || isMap) out.push(`${name}\n`);
    if (isList) list(value, indent, before, out);
    else if (isMap) members(value, indent + STEP, " ".repeat(indent + STEP), out);
    else out.push(`${name} ${scalar(value, { column: countColumns(name) + 1, indent: indent + STEP })}\n`);
  }
}

/** Counts characters. A character beyond the basic plane counts as one. */
function countColumns(text: string): number {
  return Array.from(text).length;
}

function scalar(value: unknown, place: ScalarPlace): string {
  if (typeof value === "string") return yamlScalar(value, place);
  if (value === null || value === undefined) return "null";
  if (typeof value === "number") return number(value);
  if (typeof value === "boolean" || typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return "[]";
  if (typeof value === "object") return getNumberToken(value) ?? "{}";
  throw new TypeError(`cannot encode a ${typeof value} as YAML`);
}

/** Go uses an exponent for floating-point numbers below 0.0001 and from a million. */
function number(value: number): string {
  if (!Number.isFinite(value)) throw new TypeError(`cannot encode ${value} as YAML`);
  if (Number.isSafeInteger(value)) return String(value);
  const [digits = "", exponent = "0"] = value.toExponential().split("e");
  const power = Number(exponent);
  if (power >= -4 && power < 21 && (power < 6 || Number.isInteger(value))) return String(value);
  return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}

/** Sorts letters after everything else, and runs of digits by number. @see go-yaml v2.4.0 sorter.go */
function compareKeys(left: string, right: string): number {
  const [a, b] = [Array.from(left), Array.from(right)];
  for (let i = 0; i < a.length && i < b.length; i++) {
    const [x, y] = [a[i] ?? "", b[i] ?? ""];
    if (x === y) continue;
    const [isLetter, otherIsLetter] = [LETTER.test(x), LETTER.test(y)];
    if (isLetter !== otherIsLetter) return isLetter ? 1 : -1;
    const byNumber = isLetter ? 0 : compareNumbers(a, b, i);
    return byNumber === 0 ? (x.codePointAt(0) ?? 0) - (y.codePointAt(0) ?? 0) : byNumber;
  }
  return a.length - b.length;
}

/** Compares the numbers at index `at`, where the texts first differ. */
function compareNumbers(a: readonly string[], b: readonly string[], at: number): number {
  // Zeros count only within a number: 10 is greater than 9, but 01 and 1 differ only in length.
  const inside = (a[at] === "0" || b[at] === "0") && leadingDigitBefore(a, at);
  const [x, y] = [digitsFrom(a, at), digitsFrom(b, at)];
  const lead = inside ? "1" : "";
  const difference = Number(`${lead}${x}` || "0") - Number(`${lead}${y}` || "0");
  return difference === 0 ? x.length - y.length : difference;
}

function leadingDigitBefore(text: readonly string[], at: number): boolean {
  for (let j = at - 1; j >= 0 && DIGIT.test(text[j] ?? ""); j--) if (text[j] !== "0") return true;
  return false;
}

function digitsFrom(text: readonly string[], at: number): string {
  let end = at;
  while (DIGIT.test(text[end] ?? "")) end++;
  return text.slice(at, end).join("");
}
