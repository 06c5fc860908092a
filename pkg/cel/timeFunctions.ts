import { DURATION_UNITS, parseGoDuration } from "../golang/time.ts";
import { noOverload, type RuleFunction } from "./functions.ts";
import { Failure, type Result, TimeValue, type Value } from "./values.ts";

const NANO_DIGITS = 9;
const TIME = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}:\d{2})(?:[.,](\d{1,9})\d*)?([Zz]|[+-]\d{2}:\d{2})$/;
/** Creates the functions of times and durations, without those of timestamps that read a part of the date. */
export function createTimeFunctions(): ReadonlyMap<string, RuleFunction> {
  return new Map<string, RuleFunction>([
    ["duration", ([value]) => convertTime("duration", value, parseDurationValue)],
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
    value instanceof TimeValue && value.kind === "Duration" ? value.nanos / (DURATION_UNITS[unit] ?? 1n) : noOverload(name, value);
}

/** Parses a duration as Go's time.ParseDuration does, such as "1h30m"; undefined if it is not valid. */
export function parseDurationValue(text: string): TimeValue | undefined {
  const nanos = parseGoDuration(text);
  return nanos === undefined ? undefined : new TimeValue("Duration", nanos);
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
