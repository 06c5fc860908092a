import { getErrorMessage } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import { compareVersions, parseVersion, type Version } from "./version.ts";

/** A parsed range of `skipRange` or of a dependency. */
export interface Range {
  /** Compares by semver precedence, including prereleases; ignores build metadata. */
  contains(version: Version): boolean;
}

/** A range that can be searched in a sorted list. */
export interface SortedRange extends Range {
  /**
   * Returns the indexes of versions in the range, as half-open intervals, with a binary search for each comparison of the range. Intervals may
   * overlap.
   * @param sorted in ascending order
   */
  spans(sorted: readonly Version[]): [from: number, to: number][];
}

/** A comparison with a version. `holds` receives the result of comparing another version with this one. */
interface Comparison {
  readonly holds: (order: number) => boolean;
  readonly bound: Version;
}

const COMPARATORS: Readonly<Record<string, (order: number) => boolean>> = {
  "": (order) => order === 0,
  "=": (order) => order === 0,
  "==": (order) => order === 0,
  "!": (order) => order !== 0,
  "!=": (order) => order !== 0,
  ">": (order) => order > 0,
  ">=": (order) => order >= 0,
  "<": (order) => order < 0,
  "<=": (order) => order <= 0,
};

/**
 * Parses a range: comparisons joined by blanks (AND), groups joined by ` || ` (OR), `x` as last component. Includes the quirks of the library:
 * `!=1.2.x` contains nothing, a token of one character is dropped, and any token with an `x` counts as a wildcard, so `=1.0.0-next` is an error.
 * @throws Error in blang/semver's words
 * @see https://github.com/blang/semver/blob/v4.0.0/v4/range.go ParseRange
 */
export function parseRange(text: string): SortedRange {
  const groups = splitGroups(tokens(text)).map((group) => group.flatMap(expandWildcard));
  const tests = groups.map((group) => group.map(parseComparison));
  if (tests.some((group) => group.length === 0)) throw new Error(`Could not parse Range ${goQuote(text)}: nothing between two '||'`);
  return {
    contains: (version) => tests.some((group) => group.every(({ holds, bound }) => holds(compareVersions(version, bound)))),
    spans: (sorted) => tests.flatMap((group) => findSpans(group, sorted)),
  };
}

function findSpans(group: readonly Comparison[], sorted: readonly Version[]): [from: number, to: number][] {
  let [from, to] = [0, sorted.length];
  const left: [from: number, to: number][] = [];
  for (const { holds, bound } of group) {
    const same = findFirstIndex(sorted, (version) => compareVersions(version, bound) >= 0);
    const higher = findFirstIndex(sorted, (version) => compareVersions(version, bound) > 0);
    if (!holds(-1)) from = Math.max(from, holds(0) ? same : higher);
    if (!holds(1)) to = Math.min(to, holds(0) ? higher : same);
    if (holds(-1) && holds(1)) left.push([same, higher]);
  }
  const spans: [from: number, to: number][] = [];
  for (const [start, end] of left.sort(([a], [b]) => a - b)) {
    if (from < Math.min(start, to)) spans.push([from, Math.min(start, to)]);
    from = Math.max(from, end);
  }
  if (from < to) spans.push([from, to]);
  return spans;
}

/** Returns the index of the first version for which `isReached` returns true, or the length if there is none. `isReached` must be monotonic. */
function findFirstIndex(sorted: readonly Version[], isReached: (version: Version) => boolean): number {
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    const version = sorted[middle];
    if (version === undefined || isReached(version)) to = middle;
    else from = middle + 1;
  }
  return from;
}

/** Splits at blanks, except after `>`, `<` or `=`; drops tokens of fewer than two bytes and removes blanks inside tokens. */
function tokens(text: string): string[] {
  const found: string[] = [];
  let start = 0;
  let last = "";
  for (let i = 0; i < text.length; i++) {
    const char = text.charAt(i);
    if (char !== " ") {
      last = char;
    } else if (last !== ">" && last !== "<" && last !== "=") {
      found.push(text.slice(start, i));
      start = i + 1;
    }
  }
  found.push(text.slice(start));
  return found.filter((token) => Buffer.byteLength(token) > 1).map((token) => token.replaceAll(" ", ""));
}

function splitGroups(found: readonly string[]): string[][] {
  if (found[0] === "||") throw new Error("First element in range is '||'");
  const groups: string[][] = [[]];
  for (const token of found) {
    if (token === "||") groups.push([]);
    else groups.at(-1)?.push(token);
  }
  if (groups.at(-1)?.length === 0) throw new Error("Last element in range is '||'");
  return groups;
}

/** Splits a token into operator and version. The version begins at the first digit. */
function splitComparison(token: string): [operator: string, version: string] {
  const at = token.search(/\p{Nd}/u);
  if (at < 0) throw new Error(`Could not get version from string: ${goQuote(token)}`);
  return [token.slice(0, at).trim(), token.slice(at)];
}

/** Returns the one or two comparisons for a token with an `x`. */
function expandWildcard(token: string): string[] {
  if (!token.includes("x")) return [token];
  const [operator, version] = splitComparison(token);
  const flat = replaceWildcards(version);
  switch (operator) {
    case ">":
      return [`>=${incrementWildcard(version, flat)}`];
    case ">=":
      return [`>=${flat}`];
    case "<":
      return [`<${flat}`];
    case "<=":
      return [`<${incrementWildcard(version, flat)}`];
    case "":
    case "=":
    case "==":
      return [`>=${flat}`, `<${incrementWildcard(version, flat)}`];
    case "!":
    case "!=":
      return [`<${flat}`, `>=${incrementWildcard(version, flat)}`];
    default:
      return [flat];
  }
}

/** Replaces wildcards: `1.2.x` becomes `1.2.0`, `1.x` and `1.x.x` become `1.0.0`. */
function replaceWildcards(version: string): string {
  const flat = version.replace(".x.x", ".x").replace(".x", ".0");
  return flat.split(".").length === 2 ? `${flat}.0` : flat;
}

/** Returns `flat` with the number before the wildcard increased by one; empty if there is no wildcard or number. */
function incrementWildcard(version: string, flat: string): string {
  const written = version.split(".");
  if (written.at(-1) !== "x" || (written.length !== 2 && written.length !== 3)) return "";
  const index = written.length - 2;
  const parts = flat.split(".");
  const number = parts[index] ?? "";
  if (!/^[+-]?[0-9]+$/.test(number)) return "";
  const value = BigInt(number.replace(/^\+/, ""));
  if (BigInt.asIntN(64, value) !== value) return "";
  return parts.with(index, String(BigInt.asIntN(64, value + 1n))).join(".");
}

function parseComparison(token: string): Comparison {
  const [operator, text] = splitComparison(token);
  const holds = Object.hasOwn(COMPARATORS, operator) ? COMPARATORS[operator] : undefined;
  const failed = (what: string, written: string, reason: string): Error =>
    new Error(
      `Could not parse Range ${goQuote(token)}: Could not parse ${what} ${goQuote(written)} in ${goQuote(operator + text)}${reason}`,
    );
  if (!holds) throw failed("comparator", operator, "");
  try {
    return { holds, bound: parseVersion(text) };
  } catch (err) {
    throw failed("version", text, `: ${getErrorMessage(err)}`);
  }
}
