import type { ScalarNode } from "./parser.ts";

/** A number and whether Go reads it as a float64, not as an integer of 64 bits. */
interface ReadNumber {
  readonly value: number | bigint;
  readonly isFloat: boolean;
}

const TAG_PREFIX = "tag:yaml.org,2002:";
/** Texts that are no numbers and have a type. */
const WORDS: ReadonlyMap<string, boolean | null | number> = new Map<string, boolean | null | number>([
  ...["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"].map((word) => [word, true] as const),
  ...["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"].map((word) => [word, false] as const),
  ...["", "~", "null", "Null", "NULL"].map((word) => [word, null] as const),
  ...[".nan", ".NaN", ".NAN"].map((word) => [word, Number.NaN] as const),
  ...[".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"].map((word) => [word, Number.POSITIVE_INFINITY] as const),
  ...["-.inf", "-.Inf", "-.INF"].map((word) => [word, Number.NEGATIVE_INFINITY] as const),
]);
const INTEGER = /^[-+]?(?:0[bB][01]+|0[oO]?[0-7]+|0[xX][\da-fA-F]+|0|[1-9]\d*)$/;
const SIGNED_BINARY = /^0b[-+][01]+$/;
const FLOAT = /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/;
/** What strconv.ParseFloat accepts after a point. */
const FRACTION = /^\.\d(?:_?\d)*(?:[eE][-+]?\d(?:_?\d)*)?$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const TIMESTAMP = /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[Tt]([\d:]+)(?:[.,]\d+)?(?:Z|[-+]\d\d:\d\d)| ([\d:]+)(?:[.,]\d+)?)?$/;
const TIME = /^(\d{1,2}):(\d{1,2}):(\d{1,2})$/;
const MIN_INT64 = -(2n ** 63n);
const MAX_INT64 = 2n ** 63n - 1n;
const MAX_UINT64 = 2n ** 64n - 1n;
/** No number of more characters has 64 bits, unless zeros precede it. Long ones would be slow to read exactly. */
const MAX_EXACT_CHARACTERS = 100;

/**
 * Returns the value of a scalar as Go's decoder resolves it: text, boolean, null, number, or bigint for an integer beyond 2^53.
 * @param fail throws for a value that does not have the type of its tag.
 * @see https://github.com/yaml/go-yaml/blob/v2.4.3/resolve.go
 */
export function resolveScalar(node: ScalarNode, fail: (reason: string, position: number) => never): unknown {
  const { tag, value, isPlain } = node;
  if (tag === "") return isPlain ? resolvePlain(value) : value;
  if (!tag.startsWith(TAG_PREFIX)) return value;
  const type = tag.slice(TAG_PREFIX.length);
  const wrong = (): never => fail(`cannot decode \`${value.slice(0, 100)}\` as a !!${type}`, node.start);
  switch (type) {
    case "null":
      return resolvePlain(value) === null ? null : wrong();
    case "bool": {
      const resolved = resolvePlain(value);
      return typeof resolved === "boolean" ? resolved : wrong();
    }
    case "int": {
      const number = numberIn(value);
      return number && !number.isFloat ? number.value : wrong();
    }
    case "float": {
      const number = numberIn(value);
      return number && number.value <= MAX_INT64 ? Number(number.value) : floatWord(value, wrong);
    }
    case "timestamp":
      return isTimestamp(value) ? value : wrong();
    case "binary":
      return textOfBase64(value) ?? wrong();
    default:
      return value;
  }
}

function resolvePlain(text: string): unknown {
  const word = WORDS.get(text);
  if (word !== undefined) return word;
  return numberIn(text)?.value ?? text;
}

function floatWord(text: string, wrong: () => never): number {
  const word = WORDS.get(text);
  if (typeof word === "number") return word;
  const number = numberIn(text);
  return number?.isFloat ? Number(number.value) : wrong();
}

/** Whether Go reads the text of a scalar without a tag as a float64. */
export function isFloatScalar({ tag, value }: ScalarNode): boolean {
  return tag === `${TAG_PREFIX}float` || (numberIn(value)?.isFloat ?? true);
}

/** The number in a text without quotes; undefined if there is none. Beyond 64 bits an integer is a float, beyond float64 it is text. */
function numberIn(text: string): ReadNumber | undefined {
  const first = text.charCodeAt(0);
  if (first === 0x2e) return FRACTION.test(text) ? float(text.replaceAll("_", "")) : undefined;
  if (!((first >= 0x30 && first <= 0x39) || first === 0x2b || first === 0x2d)) return undefined;
  const digits = text.includes("_") ? text.replaceAll("_", "") : text;
  if (INTEGER.test(digits)) {
    const value = integer(digits);
    if (value !== undefined) return { value, isFloat: false };
  }
  if (FLOAT.test(digits)) return float(digits);
  if (SIGNED_BINARY.test(digits)) {
    const value = integer(`${digits[2]}0b${digits.slice(3)}`);
    if (value !== undefined) return { value, isFloat: false };
  }
  return undefined;
}

function float(digits: string): ReadNumber | undefined {
  const value = Number(digits);
  return Number.isFinite(value) ? { value, isFloat: true } : undefined;
}

/** Undefined for what does not fit into 64 bits, with a sign into int64. */
function integer(digits: string): number | bigint | undefined {
  const isNegative = digits.startsWith("-");
  const isSigned = isNegative || digits.startsWith("+");
  const body = (isSigned ? digits.slice(1) : digits).toLowerCase().replace(/^0(?=[0-7]+$)/, "0o");
  const size = Number(body);
  if (Number.isSafeInteger(size)) return isNegative && size !== 0 ? -size : size;
  if (body.length > MAX_EXACT_CHARACTERS) return undefined;
  const exact = isNegative ? -BigInt(body) : BigInt(body);
  return exact >= MIN_INT64 && exact <= (isSigned ? MAX_INT64 : MAX_UINT64) ? exact : undefined;
}

function isTimestamp(text: string): boolean {
  const match = TIMESTAMP.exec(text);
  if (!match) return false;
  const [, year, month, day, withZone, withoutZone] = match;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return false;
  const time = withZone ?? withoutZone;
  if (time === undefined) return true;
  const [, hour, minute, second] = TIME.exec(time) ?? [];
  return hour !== undefined && Number(hour) < 24 && Number(minute) < 60 && Number(second) < 60;
}

/** The text that bytes spell, since JSON has no bytes; undefined for what is not base64. */
function textOfBase64(text: string): string | undefined {
  const base64 = text.replace(/[\r\n]/g, "");
  return BASE64.test(base64) && base64.length % 4 === 0 ? Buffer.from(base64, "base64").toString("utf8") : undefined;
}

/** A float64 as a key: with the digits of a float32, and an exponent from 1e-05 down and from 1e+06 up, as sigs.k8s.io/yaml prints it. */
export function floatKey(value: number): string {
  if (Number.isNaN(value)) return ".nan";
  const single = Math.fround(value);
  if (!Number.isFinite(single)) return single < 0 ? "-.inf" : ".inf";
  if (single === 0) return Object.is(single, -0) ? "-0" : "0";
  let precision = 1;
  while (precision < 9 && Math.fround(Number(single.toPrecision(precision))) !== single) precision++;
  const [digits = "", exponentText = "0"] = single.toExponential(precision - 1).split("e");
  const exponent = Number(exponentText);
  const sign = exponent < 0 ? "-" : "+";
  if (exponent < -4 || exponent >= 6) return `${digits}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
  return String(Number(`${digits}e${exponent}`));
}
