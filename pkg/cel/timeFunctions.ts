import { noOverload, type RuleFunction } from "./functions.ts";
import { Failure, type Result, TimeValue, type Value } from "./values.ts";

const NANOS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};
const NANO_DIGITS = 9;
const PART = /(\d*)(?:\.(\d*))?(ns|us|\u00B5s|\u03BCs|ms|s|m|h)/y;
const TIME = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}:\d{2})(?:[.,](\d{1,9})\d*)?([Zz]|[+-]\d{2}:\d{2})$/;
/** A duration is an int64 of nanoseconds, and its text has at most this many characters. */
const INT_BITS = 64;
const MAX_TEXT = 128;

/** Creates the functions of times and durations, without those of timestamps that read a part of the date. */
export function createTimeFunctions(): ReadonlyMap<string, RuleFunction> {
  return new Map<string, RuleFunction>([
    ["duration", ([value]) => convertTime("duration", value, parseGoDuration)],
    ["timestamp", ([value]) => convertTime("timestamp", value, parseTimestamp)],
    ["getHours", readDuration("getHours", "h")],
    ["getMinutes", readDuration("getMinutes", "m")],
    ["getSeconds", readDuration("getSeconds", "s")],
  ]);
}

function convertTime(name: string, value: Value | undefined, parse: (text: string) => TimeValue | undefined): Result {
  if (value instanceof TimeValue && value.kind.toLowerCase() === name) return value;
  if (typeof value !== "string") return noOverload(name, value);
  return parse(value) ?? new Failure(`invalid ${name}`);
}

function readDuration(name: string, unit: string): RuleFunction {
  return ([value]) =>
    value instanceof TimeValue && value.kind === "Duration" ? value.nanos / (NANOS[unit] ?? 1n) : noOverload(name, value);
}

/** Parses a duration as Go's time.ParseDuration does, such as "1h30m"; undefined if it is not valid. */
export function parseGoDuration(text: string): TimeValue | undefined {
  if (text.length > MAX_TEXT) return undefined;
  const isNegative = text.startsWith("-");
  const amount = /^[-+]/.test(text) ? text.slice(1) : text;
  if (amount === "0") return new TimeValue("Duration", 0n);
  let nanos = 0n;
  let at = 0;
  while (at < amount.length) {
    PART.lastIndex = at;
    const [whole, integer = "", fraction = "", unit = ""] = PART.exec(amount) ?? [];
    if (whole === undefined || integer + fraction === "") return undefined;
    const size = NANOS[unit] ?? 0n;
    nanos += BigInt(integer === "" ? 0 : integer) * size + (BigInt(fraction === "" ? 0 : fraction) * size) / 10n ** BigInt(fraction.length);
    at += whole.length;
  }
  if (at === 0 || BigInt.asIntN(INT_BITS, nanos) !== nanos) return undefined;
  return new TimeValue("Duration", isNegative ? -nanos : nanos);
}

/** Parses a time of RFC 3339; undefined if it is not valid. */
export function parseTimestamp(text: string): TimeValue | undefined {
  const [, day = "", time = "", fraction = "", zone = ""] = TIME.exec(text) ?? [];
  const local = Date.parse(`${day}T${time}Z`);
  const ms = Date.parse(`${day}T${time}${zone.toUpperCase()}`);
  // Date.parse accepts 24:00:00 and the 31st of each month.
  if (Number.isNaN(ms) || Number.isNaN(local) || !new Date(local).toISOString().startsWith(`${day}T${time}`)) return undefined;
  return new TimeValue("Timestamp", BigInt(ms) * 1_000_000n + BigInt(fraction.padEnd(NANO_DIGITS, "0")));
}
