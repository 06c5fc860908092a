import { isDeepStrictEqual } from "node:util";
import { isObject } from "../golang/members.ts";

/** Maximum length of an actual value in a mismatch. */
const MAX_VALUE = 400;

/**
 * Compares an actual value with an expected one: objects may have further members, lists must have the same length, and all other values must be equal.
 * An object with one of these members is a pattern instead:
 * - `$absent: true`: the member does not exist
 * - `$present: true`: the member exists
 * - `$matches`: a string that matches the regular expression
 * - `$includes`: a string with all of these parts, or a list with items like all of these
 * - `$length`: a list of this length
 * @returns the first difference with its path, or undefined
 * @throws SyntaxError for an invalid regular expression
 */
export function findMismatch(expected: unknown, actual: unknown, path = ""): string | undefined {
  if (isPattern(expected)) return matchPattern(expected, actual, path);
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return describe(path, expected, actual);
    return firstOf(expected.map((one, at) => () => findMismatch(one, (actual as unknown[])[at], `${path}[${at}]`)));
  }
  if (isObject(expected)) {
    if (!isObject(actual)) return describe(path, expected, actual);
    const members = Object.entries(expected);
    return firstOf(
      members.map(
        ([name, one]) =>
          () =>
            findMismatch(one, actual[name], path === "" ? name : `${path}.${name}`),
      ),
    );
  }
  return isDeepStrictEqual(expected, actual) ? undefined : describe(path, expected, actual);
}

const PATTERNS = ["$absent", "$present", "$matches", "$includes", "$length"] as const;
type Pattern = Readonly<Partial<Record<(typeof PATTERNS)[number], unknown>>>;

function isPattern(value: unknown): value is Pattern {
  return isObject(value) && PATTERNS.some((name) => name in value);
}

function matchPattern(pattern: Pattern, actual: unknown, path: string): string | undefined {
  const { $absent, $present, $matches, $includes, $length } = pattern;
  const isMatch =
    ($absent === undefined || actual === undefined) &&
    ($present === undefined || actual !== undefined) &&
    ($matches === undefined || (typeof actual === "string" && typeof $matches === "string" && new RegExp($matches, "u").test(actual))) &&
    ($length === undefined || (Array.isArray(actual) && actual.length === $length)) &&
    ($includes === undefined || includesAll(actual, toList($includes)));
  return isMatch ? undefined : describe(path, pattern, actual);
}

function includesAll(actual: unknown, parts: readonly unknown[]): boolean {
  if (typeof actual === "string") return parts.every((part) => actual.includes(String(part)));
  return Array.isArray(actual) && parts.every((part) => actual.some((item) => findMismatch(part, item) === undefined));
}

function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [value];
}

function firstOf(checks: readonly (() => string | undefined)[]): string | undefined {
  for (const check of checks) {
    const mismatch = check();
    if (mismatch !== undefined) return mismatch;
  }
  return undefined;
}

function describe(path: string, expected: unknown, actual: unknown): string {
  const shown = JSON.stringify(actual) ?? "nothing";
  const bounded = shown.length > MAX_VALUE ? `${shown.slice(0, MAX_VALUE)}…` : shown;
  return `${path === "" ? "the value" : path} is ${bounded}, not ${JSON.stringify(expected)}`;
}
