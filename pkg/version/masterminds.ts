import { goQuote } from "../golang/quote.ts";
import { compareIdentifiers, compareVersions, hasLeadingZeroes, isDigits, parseUint64, type Version } from "./version.ts";

/** A parsed constraint of `spec.source.catalog.version`. */
export interface Constraint {
  /** Ignores build metadata of `version`. Only an AND group with a prerelease can contain prereleases. */
  contains(version: Version): boolean;
}

type Operator = "" | "=" | "!=" | ">" | "<" | ">=" | "=>" | "<=" | "=<" | "~" | "~>" | "^";

/**
 * One comparison. `dirty`: a part was a wildcard or omitted; the first such part is the minor or the patch or, if both flags are false, the
 * major.
 */
interface Comparison {
  readonly version: Version;
  readonly dirty: boolean;
  readonly minorDirty: boolean;
  readonly patchDirty: boolean;
}

type Holds = (version: Version, comparison: Comparison) => boolean;

interface ComparisonGroup {
  readonly comparisons: readonly { readonly holds: Holds; readonly comparison: Comparison }[];
  readonly includesPrereleases: boolean;
}

const MAX_BYTES = 512;
const MAX_GROUPS = 32;
const MAX_VERSION_BYTES = 256;

// Go's \s is narrower than JavaScript's.
const SPACE = "[\\t\\n\\f\\r ]";
const OPERATOR = "!=|>=|=>|<=|=<|~>|[=><~^]";
const PART = "[0-9|xX*]+";
const IDENTIFIERS = "[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*";
const OPERAND = `v?(?:${PART})(?:\\.${PART})?(?:\\.${PART})?(?:-${IDENTIFIERS})?(?:\\+${IDENTIFIERS})?`;
const HYPHEN_RANGE = new RegExp(`${SPACE}*(${OPERAND})${SPACE}+-${SPACE}+(${OPERAND})${SPACE}*`, "g");
const COMPARISON = new RegExp(
  `(?<operator>${OPERATOR})?${SPACE}*(?<operand>v?(?<major>${PART})(?:\\.(?<minor>${PART}))?(?:\\.(?<patch>${PART}))?(?:-(?<pre>${IDENTIFIERS}))?(?:\\+${IDENTIFIERS})?)`,
  "y",
);
const BLANKS = new RegExp(`${SPACE}*`, "y");

const OPERATORS: Readonly<Record<Operator, Holds>> = {
  "": tildeOrEqual,
  "=": tildeOrEqual,
  "!=": notEqual,
  ">": greaterThan,
  "<": (v, { version }) => compareVersions(v, version) < 0,
  ">=": (v, { version }) => compareVersions(v, version) >= 0,
  "=>": (v, { version }) => compareVersions(v, version) >= 0,
  "<=": lessThanEqual,
  "=<": lessThanEqual,
  "~": tilde,
  "~>": tilde,
  "^": caret,
};

/**
 * Parses a constraint: comparisons joined by blanks or commas (AND), groups joined by `||` (OR), `a - b` ranges, wildcards, `~`, `^`.
 * @throws Error in the library's words: `improper constraint: "…"`, `constraint parser error`, or about a limit
 * @see https://github.com/Masterminds/semver/blob/v3.5.0/constraints.go NewConstraint
 */
export function parseConstraint(text: string): Constraint {
  if (Buffer.byteLength(text) > MAX_BYTES) throw new Error(`constraint string is too long (max ${MAX_BYTES} bytes)`);
  const parts = replaceHyphenRanges(text).split("||");
  if (parts.length > MAX_GROUPS) throw new Error(`too many constraint groups (max ${MAX_GROUPS})`);
  const groups = parts.map(parseGroup);
  return { contains: (version) => groups.some((group) => groupContains(group, version)) };
}

function groupContains(group: ComparisonGroup, version: Version): boolean {
  if (version.prerelease.length > 0 && !group.includesPrereleases) return false;
  return group.comparisons.every(({ holds, comparison }) => holds(version, comparison));
}

/** Replaces every `a - b` by `>= a, <= b `. */
function replaceHyphenRanges(text: string): string {
  let out = text;
  for (const [whole, from, to] of text.matchAll(HYPHEN_RANGE)) out = out.replace(whole, () => `>= ${from}, <= ${to} `);
  return out;
}

/** Returns the end of the blanks that begin at `at`. */
function skipBlanks(text: string, at: number): number {
  BLANKS.lastIndex = at;
  BLANKS.exec(text);
  return BLANKS.lastIndex;
}

/**
 * Parses comparisons that are separated by blanks, or by one comma with or without blanks. Unlike the regular expression of the library, this one
 * matches a run of blanks in only one way, so no input takes exponential time.
 */
function parseGroup(text: string): ComparisonGroup {
  const improper = (): Error => new Error(`improper constraint: ${goQuote(text)}`);
  const matches: RegExpExecArray[] = [];
  let at = skipBlanks(text, 0);
  for (let expectsAnother = true; expectsAnother; ) {
    COMPARISON.lastIndex = at;
    const match = COMPARISON.exec(text);
    if (!match) throw improper();
    matches.push(match);
    const end = COMPARISON.lastIndex;
    at = skipBlanks(text, end);
    const comma = text[at] === ",";
    if (!comma && at === end && at < text.length) throw improper();
    expectsAnother = comma || at < text.length;
    if (comma) at = skipBlanks(text, at + 1);
  }
  const comparisons = matches.map(({ groups = {} }) => ({
    holds: OPERATORS[(groups["operator"] ?? "") as Operator],
    comparison: parseComparison(groups),
  }));
  return { comparisons, includesPrereleases: comparisons.some(({ comparison }) => comparison.version.prerelease.length > 0) };
}

function isWildcard(part: string | undefined): boolean {
  return part === undefined || part === "x" || part === "X" || part === "*";
}

function parseComparison(groups: Readonly<Record<string, string | undefined>>): Comparison {
  const { operand = "", major = "", minor, patch, pre } = groups;
  const flags = { dirty: true, minorDirty: false, patchDirty: false };
  if (isWildcard(major)) return { ...flags, version: looseVersion("", "0", "0", "0", pre) };
  if (isWildcard(minor)) return { ...flags, minorDirty: true, version: looseVersion("", major, "0", "0", pre) };
  if (isWildcard(patch)) return { ...flags, patchDirty: true, version: looseVersion("", major, minor, "0", pre) };
  return { ...flags, dirty: false, version: looseVersion(operand, major, minor, patch, pre) };
}

/** Parses a version of a constraint; its numbers may have leading zeros, its prerelease may not. `written` is its text for the length check. */
function looseVersion(written: string, major: string, minor = "", patch = "", pre?: string): Version {
  const prerelease = pre === undefined ? [] : pre.split(".");
  const length = written === "" ? `${major}.${minor}.${patch}`.length + (pre === undefined ? 0 : pre.length + 1) : written.length;
  const bad = length > MAX_VERSION_BYTES || prerelease.some((identifier) => isDigits(identifier) && hasLeadingZeroes(identifier));
  if (bad) throw new Error("constraint parser error");
  try {
    return { major: parseUint64(major), minor: parseUint64(minor), patch: parseUint64(patch), prerelease, build: [] };
  } catch (err) {
    throw new Error("constraint parser error", { cause: err });
  }
}

function notEqual(v: Version, { version: c, dirty, minorDirty, patchDirty }: Comparison): boolean {
  if (!dirty) return compareVersions(v, c) !== 0;
  if (v.major !== c.major) return true;
  if (minorDirty) return false;
  if (v.minor !== c.minor) return true;
  if (patchDirty) return compareIdentifiers(v.prerelease, c.prerelease) !== 0;
  return v.patch !== c.patch || compareVersions(v, c) !== 0;
}

function greaterThan(v: Version, { version: c, dirty, minorDirty, patchDirty }: Comparison): boolean {
  if (!dirty) return compareVersions(v, c) > 0;
  if (v.major !== c.major) return v.major > c.major;
  if (minorDirty) return false;
  if (patchDirty) return v.minor > c.minor;
  return compareVersions(v, c) > 0;
}

function lessThanEqual(v: Version, { version: c, dirty, minorDirty }: Comparison): boolean {
  if (!dirty) return compareVersions(v, c) <= 0;
  if (v.major > c.major) return false;
  return v.major !== c.major || minorDirty || v.minor <= c.minor;
}

/** `~1.2.3` allows a higher patch, `~1` also a higher minor; `~0.0.0` and `~*` allow everything from 0.0.0. */
function tilde(v: Version, { version: c, minorDirty, patchDirty }: Comparison): boolean {
  if (compareVersions(v, c) < 0) return false;
  if (c.major === 0 && c.minor === 0 && c.patch === 0 && !minorDirty && !patchDirty) return true;
  return v.major === c.major && (minorDirty || v.minor === c.minor);
}

function tildeOrEqual(v: Version, comparison: Comparison): boolean {
  return comparison.dirty ? tilde(v, comparison) : compareVersions(v, comparison.version) === 0;
}

/** `^1.2.3` keeps the leftmost nonzero number; `^*` only allows 0.0.0. */
function caret(v: Version, { version: c, minorDirty, patchDirty }: Comparison): boolean {
  if (compareVersions(v, c) < 0) return false;
  if (c.major > 0 || minorDirty) return v.major === c.major;
  if (v.major > 0) return false;
  if (c.minor > 0 || patchDirty) return v.minor === c.minor;
  return v.minor === 0 && v.patch === c.patch;
}
