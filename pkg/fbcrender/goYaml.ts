import { isObject } from "../api/jsonObject.ts";
import { numberToken } from "../fbc/numberTokens.ts";
import { type ScalarPlace, yamlScalar } from "./goYamlScalar.ts";

const STEP = 2;
const LETTER = /\p{L}/u;
const DIGIT = /[0-9]/;

/**
 * `value` as one YAML document in the form that sigs.k8s.io/yaml, and so opm, writes: members by name, numbers in names by value, lists not indented below
 * their member, texts of several lines as blocks, quotes only where they are needed.
 * @throws TypeError for what JSON does not know.
 * @see https://github.com/kubernetes-sigs/yaml/blob/v1.6.0/yaml.go JSONToYAML
 */
export function goYaml(value: object): string {
  const out: string[] = [];
  node(value, 0, "", out);
  return out.join("");
}

/** Writes `value` behind `lead`, which stands on the line already where it is not empty. */
function node(value: unknown, indent: number, lead: string, out: string[]): void {
  if (Array.isArray(value) && value.length > 0) {
    list(value, indent, lead, out);
  } else if (isObject(value) && numberToken(value) === undefined && Object.keys(value).length > 0) {
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
    const isMap = isObject(value) && numberToken(value) === undefined && Object.keys(value).length > 0;
    if (isList || isMap) out.push(`${name}\n`);
    if (isList) list(value, indent, before, out);
    else if (isMap) members(value, indent + STEP, " ".repeat(indent + STEP), out);
    else out.push(`${name} ${scalar(value, { column: columnsOf(name) + 1, indent: indent + STEP })}\n`);
  }
}

/** Characters, of which those beyond the basic plane are one. */
function columnsOf(text: string): number {
  return Array.from(text).length;
}

function scalar(value: unknown, place: ScalarPlace): string {
  if (typeof value === "string") return yamlScalar(value, place);
  if (value === null || value === undefined) return "null";
  if (typeof value === "number") return number(value);
  if (typeof value === "boolean" || typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return "[]";
  if (typeof value === "object") return numberToken(value) ?? "{}";
  throw new TypeError(`a ${typeof value} has no YAML form`);
}

/** Go prints a floating point number with an exponent below 0.0001 and from a million on. */
function number(value: number): string {
  if (!Number.isFinite(value)) throw new TypeError(`${value} has no JSON form`);
  if (Number.isSafeInteger(value)) return String(value);
  const [digits = "", exponent = "0"] = value.toExponential().split("e");
  const power = Number(exponent);
  if (power >= -4 && power < 21 && (power < 6 || Number.isInteger(value))) return String(value);
  return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}

/** Letters after all else, runs of digits by their number. @see go-yaml v2 sorter.go */
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

/** Compares the numbers that the texts go on with at `at`, the place of their first difference. */
function compareNumbers(a: readonly string[], b: readonly string[], at: number): number {
  // A zero within a number counts: 10 is more than 9, while 01 and 1 differ in length only.
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
