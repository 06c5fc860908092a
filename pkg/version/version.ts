import { getErrorMessage } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";

/** An unsigned 64-bit number: a `number` up to 2^53-1 and a `bigint` above, so that any two can be compared with `===`, `<` and `>`. */
export type VersionNumber = number | bigint;

const MAX_UINT64 = 2n ** 64n - 1n;
const DIGITS = /^[0-9]*$/;
const ALPHANUMERIC = /^[0-9A-Za-z-]*$/;

/** Reports whether `text` contains only ASCII digits; true for the empty text. */
export function isDigits(text: string): boolean {
  return DIGITS.test(text);
}

/** Reports whether a number of several digits starts with 0. */
export function hasLeadingZeroes(text: string): boolean {
  return text.length > 1 && text.startsWith("0");
}

/**
 * Parses a number.
 * @throws Error in the words of Go's strconv.ParseUint if it is not a digit string or above 2^64-1
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
 * Checks one identifier of a prerelease or release: `[0-9A-Za-z-]+`; if numeric, without leading zero and at most 2^64-1.
 * @throws Error in blang/semver's words
 */
function checkIdentifier(text: string): void {
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
 * @throws Error in blang/semver's words
 */
function checkBuildIdentifier(text: string): void {
  if (text === "") throw new Error("Build meta data is empty");
  if (!ALPHANUMERIC.test(text)) throw new Error(`Invalid character(s) found in build meta data ${goQuote(text)}`);
}

/** Reports whether an identifier consists of digits without leading zeros that fit into 64 bits. Other identifiers are compared as text. */
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
 * Compares two lists of identifiers like semver prereleases: by identifier, numeric before alphanumeric, numbers by value, others by ASCII; if one is
 * a prefix of the other, the shorter is smaller. The empty list is the smallest. A caller that compares versions must handle a missing prerelease
 * itself, because it is the greatest.
 */
export function compareIdentifiers(a: readonly string[], b: readonly string[]): number {
  for (let i = 0; i < a.length && i < b.length; i++) {
    const order = compareIdentifier(a[i] ?? "", b[i] ?? "");
    if (order !== 0) return order;
  }
  return Math.sign(a.length - b.length);
}

/** A semantic version. Numbers are unsigned 64-bit; `prerelease` and `build` contain the identifiers between the dots. */
export interface Version {
  readonly major: VersionNumber;
  readonly minor: VersionNumber;
  readonly patch: VersionNumber;
  readonly prerelease: readonly string[];
  readonly build: readonly string[];
}

/**
 * A bundle's version with its release. `release` is undefined if there is none, and empty if it is explicitly empty. Under the legacy rule it is
 * the version's build metadata, which is then removed from `version`.
 */
export interface VersionRelease {
  readonly version: Version;
  readonly release: readonly string[] | undefined;
}

const MAX_RELEASE_LENGTH = 20;

function parsePart(name: "Major" | "Minor" | "Patch", text: string): VersionNumber {
  if (!isDigits(text)) throw new Error(`Invalid character(s) found in ${name.toLowerCase()} number ${goQuote(text)}`);
  if (hasLeadingZeroes(text)) throw new Error(`${name} number must not contain leading zeroes ${goQuote(text)}`);
  return parseUint64(text);
}

/**
 * Parses a strict semantic version: three numbers, no leading `v`, no leading zeros.
 * @throws Error in blang/semver's words, such as `No Major.Minor.Patch elements found`
 * @see https://github.com/blang/semver/blob/v4.0.0/v4/semver.go Parse
 */
export function parseVersion(text: string): Version {
  if (text === "") throw new Error("Version string empty");
  const firstDot = text.indexOf(".");
  const secondDot = firstDot < 0 ? -1 : text.indexOf(".", firstDot + 1);
  if (secondDot < 0) throw new Error("No Major.Minor.Patch elements found");
  const major = parsePart("Major", text.slice(0, firstDot));
  const minor = parsePart("Minor", text.slice(firstDot + 1, secondDot));
  const rest = text.slice(secondDot + 1);
  const plus = rest.indexOf("+");
  const core = plus < 0 ? rest : rest.slice(0, plus);
  const dash = core.indexOf("-");
  const patch = parsePart("Patch", dash < 0 ? core : core.slice(0, dash));
  const prerelease = dash < 0 ? [] : core.slice(dash + 1).split(".");
  prerelease.forEach(checkIdentifier);
  const build = plus < 0 ? [] : rest.slice(plus + 1).split(".");
  build.forEach(checkBuildIdentifier);
  return { major, minor, patch, prerelease, build };
}

/** Parses a strict semantic version as `parseVersion`; undefined if it is invalid. */
export function tryParseVersion(text: string): Version | undefined {
  try {
    return parseVersion(text);
  } catch {
    return undefined;
  }
}

/** Returns a negative number, 0 or a positive number by semver precedence; ignores build metadata. */
export function compareVersions(a: Version, b: Version): number {
  if (a.major !== b.major) return a.major < b.major ? -1 : 1;
  if (a.minor !== b.minor) return a.minor < b.minor ? -1 : 1;
  if (a.patch !== b.patch) return a.patch < b.patch ? -1 : 1;
  const aReleased = a.prerelease.length === 0;
  const bReleased = b.prerelease.length === 0;
  if (aReleased || bReleased) return Number(aReleased) - Number(bReleased);
  return compareIdentifiers(a.prerelease, b.prerelease);
}

/** Formats `version` with prerelease and build metadata; the inverse of `parseVersion`. */
export function formatVersion({ major, minor, patch, prerelease, build }: Version): string {
  let text = `${major}.${minor}.${patch}`;
  if (prerelease.length > 0) text += `-${prerelease.join(".")}`;
  if (build.length > 0) text += `+${build.join(".")}`;
  return text;
}

/**
 * Parses a release such as "1" or "alpha.2" into its identifiers; the empty text results in an empty list.
 * @throws Error if it has more than 20 characters or invalid identifiers, with one line for each invalid identifier
 */
export function parseRelease(text: string): readonly string[] {
  if (text === "") return [];
  if (text.length > MAX_RELEASE_LENGTH) {
    throw new Error(`invalid release ${goQuote(text)}: exceeds maximum length of ${MAX_RELEASE_LENGTH} characters`);
  }
  const identifiers = text.split(".");
  const findings: string[] = [];
  identifiers.forEach((identifier, index) => {
    try {
      checkIdentifier(identifier);
    } catch (err) {
      findings.push(`segment ${index}: ${getErrorMessage(err)}`);
    }
  });
  if (findings.length > 0) throw new Error(`invalid release ${goQuote(text)}: ${findings.join("\n")}`);
  return identifiers;
}

/** Returns the release that build metadata represents under the legacy rule; undefined if it is not a valid release. */
function releaseFromBuild(build: readonly string[]): readonly string[] | undefined {
  if (build.length === 0) return undefined;
  try {
    return parseRelease(build.join("."));
  } catch {
    return undefined;
  }
}

/**
 * Parses a bundle's version and release. Without `release` (undefined or null), the legacy rule applies: build metadata that is a valid release
 * becomes the release; otherwise it stays build metadata. With `release`, even if empty, the version keeps its build metadata.
 * @throws Error if the version or the given release is invalid
 */
export function parseVersionRelease(version: string, release?: string | null): VersionRelease {
  if (release === undefined || release === null) {
    const parsed = parseVersion(version);
    const fromBuild = releaseFromBuild(parsed.build);
    return fromBuild ? { version: { ...parsed, build: [] }, release: fromBuild } : { version: parsed, release: undefined };
  }
  return {
    version: parsing("version", version, () => parseVersion(version)),
    release: parsing("release", release, () => parseRelease(release)),
  };
}

function parsing<T>(what: string, text: string, parse: () => T): T {
  try {
    return parse();
  } catch (err) {
    throw new Error(`error parsing ${what} ${goQuote(text)}: ${getErrorMessage(err)}`, { cause: err });
  }
}

/**
 * Compares by version, then by release; returns a negative number, 0 or a positive number. No release and an empty one are equal, and smaller
 * than any other.
 */
export function compareVersionRelease(a: VersionRelease, b: VersionRelease): number {
  return compareVersions(a.version, b.version) || compareIdentifiers(a.release ?? [], b.release ?? []);
}

/** Reports whether two versions with their releases are the same. An invalid version is equal only to the same text. */
export function isSameVersion(
  a: { version: string; release?: string | undefined },
  b: { version: string; release?: string | undefined },
): boolean {
  if (a.version === b.version && a.release === b.release) return true;
  try {
    return compareVersionRelease(parseVersionRelease(a.version, a.release), parseVersionRelease(b.version, b.release)) === 0;
  } catch {
    return false;
  }
}

/** Formats in the legacy form: the release becomes the version's build metadata. */
export function formatVersionRelease({ version, release }: VersionRelease): string {
  return formatVersion(release && release.length > 0 ? { ...version, build: release } : version);
}

/**
 * Normalizes a CSV's version with blang/semver's tolerant parser: "v1.2" becomes "1.2.0", "01.2.3" becomes "1.2.3".
 * @throws Error in blang/semver's words
 * @see https://github.com/blang/semver/blob/v4.0.0/v4/semver.go ParseTolerant
 */
export function parseOperatorVersion(text: string): string {
  const parts = splitN(text.trim().replace(/^v/, ""), 3).map((part) => {
    if (part.length <= 1) return part;
    const stripped = part.replace(/^0+/, "");
    return stripped === "" || !/^[0-9]/.test(stripped) ? `0${stripped}` : stripped;
  });
  if (parts.length < 3) {
    if (/[+-]/.test(parts.at(-1) ?? "")) throw new Error("Short version cannot contain PreRelease/Build meta data");
    while (parts.length < 3) parts.push("0");
  }
  return formatVersion(parseVersion(parts.join(".")));
}

/**
 * Validates a CSV's release: identifiers between dots, as in a semver prerelease.
 * @throws Error in blang/semver's words
 */
export function parseOperatorRelease(text: string): string {
  return parseVersion(`0.0.0-${text}`).prerelease.join(".");
}

/** Splits at the first `count - 1` dots; the last part is the remaining text. */
function splitN(text: string, count: number): string[] {
  const parts = text.split(".");
  return parts.length <= count ? parts : [...parts.slice(0, count - 1), parts.slice(count - 1).join(".")];
}
