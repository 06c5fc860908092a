import { goQuote } from "./quote.ts";

/** Formats a time like metav1.Time: RFC 3339, UTC, truncated to whole seconds. */
export function formatTime(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, "Z");
}

const LAYOUT = '"2006-01-02T15:04:05Z07:00"';
/** The elements of the RFC 3339 layout, with their patterns. */
const ELEMENTS: readonly (readonly [name: string, pattern: RegExp])[] = [
  ["2006", /^\d{4}/],
  ["-", /^-/],
  ["01", /^\d{2}/],
  ["-", /^-/],
  ["02", /^\d{2}/],
  ["T", /^T/],
  ["15", /^\d{2}/],
  [":", /^:/],
  ["04", /^\d{2}/],
  [":", /^:/],
  ["05", /^\d{2}(?:[.,]\d+)?/],
  ["Z07:00", /^(?:Z|[+-]\d{2}:\d{2})/],
];

/**
 * Normalizes an RFC 3339 time to UTC and seconds, like metav1.Time: "2024-05-01T10:00:00.5+02:00" becomes "2024-05-01T08:00:00Z".
 * @throws Error with the text of Go if the text is not an RFC 3339 time
 * @see https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#Time
 */
export function normalizeTime(text: string): string {
  const found: string[] = [];
  let rest = text;
  for (const [name, pattern] of ELEMENTS) {
    const part = pattern.exec(rest)?.[0];
    if (part === undefined)
      throw new Error(`parsing time ${goQuote(text)} as ${LAYOUT}: cannot parse ${goQuote(rest)} as ${goQuote(name)}`);
    found.push(part);
    rest = rest.slice(part.length);
    const fault = rangeFault(name, found);
    if (fault) throw new Error(`parsing time ${goQuote(text)}: ${fault} out of range`);
  }
  if (rest !== "") throw new Error(`parsing time ${goQuote(text)}: extra text: ${goQuote(rest)}`);
  if (Number(found[4]) < 1 || Number(found[4]) > daysIn(Number(found[0]), Number(found[2])))
    throw new Error(`parsing time ${goQuote(text)}: day out of range`);
  return formatTime(new Date(text.replace(",", ".")));
}

function rangeFault(name: string, found: readonly string[]): string | undefined {
  const value = Number.parseInt(found.at(-1) ?? "", 10);
  if (name === "01" && (value < 1 || value > 12)) return "month";
  if (name === "15" && value > 23) return "hour";
  if (name === "04" && value > 59) return "minute";
  return name === "05" && value > 59 ? "second" : undefined;
}

function daysIn(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate();
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;
/** The units for ages up to a number of seconds, as in kubectl: two units for small numbers, one for large numbers. */
const STEPS = [
  { below: 2 * MINUTE, unit: 1, sign: "s", rest: 0, restSign: "" },
  { below: 10 * MINUTE, unit: MINUTE, sign: "m", rest: 1, restSign: "s" },
  { below: 3 * HOUR, unit: MINUTE, sign: "m", rest: 0, restSign: "" },
  { below: 8 * HOUR, unit: HOUR, sign: "h", rest: MINUTE, restSign: "m" },
  { below: 2 * DAY, unit: HOUR, sign: "h", rest: 0, restSign: "" },
  { below: 8 * DAY, unit: DAY, sign: "d", rest: HOUR, restSign: "h" },
  { below: 2 * YEAR, unit: DAY, sign: "d", rest: 0, restSign: "" },
  { below: 8 * YEAR, unit: YEAR, sign: "y", rest: DAY, restSign: "d" },
  { below: Number.POSITIVE_INFINITY, unit: YEAR, sign: "y", rest: 0, restSign: "" },
] as const;

/**
 * Formats an age as kubectl does: "90s", "5m30s", "3h", "2d4h".
 * @param since RFC 3339; "<unknown>" if missing or invalid
 * @param now milliseconds since the epoch
 * @see https://pkg.go.dev/k8s.io/apimachinery/pkg/util/duration#HumanDuration
 */
export function formatAge(since: string | null | undefined, now: number): string {
  const at = since ? Date.parse(since) : Number.NaN;
  if (Number.isNaN(at)) return "<unknown>";
  const seconds = Math.max(Math.floor((now - at) / 1_000), 0);
  const { unit, sign, rest, restSign } = STEPS.find(({ below }) => seconds < below) ?? STEPS[8];
  const more = rest === 0 ? 0 : Math.floor((seconds % unit) / rest);
  return `${Math.floor(seconds / unit)}${sign}${more > 0 ? `${more}${restSign}` : ""}`;
}

/** Nanoseconds by unit of a duration. */
export const DURATION_UNITS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};
const DURATION_PART = /(\d*)(?:\.(\d*))?(ns|us|\u00B5s|\u03BCs|ms|s|m|h)/y;
/** A duration is an int64 of nanoseconds, and its text has at most this many characters. */
const DURATION_BITS = 64;
const DURATION_TEXT_MAX = 128;
const NANOS_PER_MS = 1e6;

/** Parses a duration as Go's time.ParseDuration does, such as "-1h30m", into nanoseconds; undefined if it is not valid. */
export function parseGoDuration(text: string): bigint | undefined {
  if (text.length > DURATION_TEXT_MAX) return undefined;
  const amount = /^[-+]/.test(text) ? text.slice(1) : text;
  if (amount === "0") return 0n;
  let nanos = 0n;
  let at = 0;
  while (at < amount.length) {
    DURATION_PART.lastIndex = at;
    const [whole, integer = "", fraction = "", unit = ""] = DURATION_PART.exec(amount) ?? [];
    if (whole === undefined || integer + fraction === "") return undefined;
    const size = DURATION_UNITS[unit] ?? 0n;
    nanos += BigInt(integer === "" ? 0 : integer) * size + (BigInt(fraction === "" ? 0 : fraction) * size) / 10n ** BigInt(fraction.length);
    at += whole.length;
  }
  if (at === 0 || BigInt.asIntN(DURATION_BITS, nanos) !== nanos) return undefined;
  return text.startsWith("-") ? -nanos : nanos;
}

/** Parses a duration in Go's format that is not negative, such as "12h" or "1h30m", into milliseconds; undefined for any other text. */
export function parseDuration(text: string): number | undefined {
  const nanos = parseGoDuration(text);
  return nanos === undefined || nanos < 0n ? undefined : Number(nanos) / NANOS_PER_MS;
}
