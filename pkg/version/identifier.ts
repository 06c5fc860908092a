import { goQuote } from "../errors/goQuote.ts";

/** An unsigned 64-bit number: a `number` up to 2^53-1, a `bigint` above; so `===`, `<` and `>` order any two of them. */
export type VersionNumber = number | bigint;

const MAX_UINT64 = 2n ** 64n - 1n;
const DIGITS = /^[0-9]*$/;
const ALPHANUMERIC = /^[0-9A-Za-z-]*$/;

/** True when `text` holds nothing but ASCII digits; the empty text does. */
export function isDigits(text: string): boolean {
  return DIGITS.test(text);
}

/** True for a number of several digits that starts with 0. */
export function hasLeadingZeroes(text: string): boolean {
  return text.length > 1 && text.startsWith("0");
}

/**
 * The number that `digits` writes.
 * @throws Error in the words of Go's strconv.ParseUint when it is no digit string or above 2^64-1.
 */
export function parseUint64(digits: string): VersionNumber {
  if (digits === "" || !isDigits(digits)) throw new Error(`strconv.ParseUint: parsing ${goQuote(digits)}: invalid syntax`);
  const small = Number(digits);
  if (Number.isSafeInteger(small)) return small;
  const big = BigInt(digits);
  if (big > MAX_UINT64) throw new Error(`strconv.ParseUint: parsing ${goQuote(digits)}: value out of range`);
  return big;
}

/**
 * Checks one identifier of a prerelease or release: `[0-9A-Za-z-]+`, no leading zero and at most 2^64-1 when numeric.
 * @throws Error in blang/semver's words.
 */
export function checkIdentifier(text: string): void {
  if (text === "") throw new Error("Prerelease is empty");
  if (isDigits(text)) {
    if (hasLeadingZeroes(text)) throw new Error(`Numeric PreRelease version must not contain leading zeroes ${goQuote(text)}`);
    parseUint64(text);
  } else if (!ALPHANUMERIC.test(text)) {
    throw new Error(`Invalid character(s) found in prerelease ${goQuote(text)}`);
  }
}

/**
 * Checks one identifier of build metadata: `[0-9A-Za-z-]+`.
 * @throws Error in blang/semver's words.
 */
export function checkBuildIdentifier(text: string): void {
  if (text === "") throw new Error("Build meta data is empty");
  if (!ALPHANUMERIC.test(text)) throw new Error(`Invalid character(s) found in build meta data ${goQuote(text)}`);
}

/** Digits without leading zeros that fit 64 bits; anything else is ordered as text. */
function isNumeric(text: string): boolean {
  if (!isDigits(text) || text.length > 20) return false;
  return text.length < 20 || BigInt(text) <= MAX_UINT64;
}

function compareIdentifier(a: string, b: string): number {
  if (a === b) return 0;
  const aNumeric = isNumeric(a);
  const bNumeric = isNumeric(b);
  if (aNumeric !== bNumeric) return aNumeric ? -1 : 1;
  if (aNumeric && a.length !== b.length) return a.length < b.length ? -1 : 1;
  return a < b ? -1 : 1;
}

/**
 * Orders two lists of identifiers as semver orders prereleases: identifier by identifier, numeric before alphanumeric,
 * numbers by value, the rest by ASCII; of two lists that agree as far as both go the shorter is smaller.
 * An empty list is smaller than any other here; a caller that compares prereleases treats "none" itself.
 */
export function compareIdentifiers(a: readonly string[], b: readonly string[]): number {
  for (let i = 0; i < a.length && i < b.length; i++) {
    const order = compareIdentifier(a[i] ?? "", b[i] ?? "");
    if (order !== 0) return order;
  }
  return Math.sign(a.length - b.length);
}
