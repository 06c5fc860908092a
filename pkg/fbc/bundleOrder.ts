import { type JsonObject } from "../api/k8s.ts";
import { getObjectMember, getObjectMembers, getOptionalText, getTextMember } from "../golang/members.ts";
import { compareText } from "../text/compare.ts";
import { parseRange, type SortedRange } from "../version/blang.ts";
import { compareVersionRelease, parseVersionRelease, type VersionRelease } from "../version/version.ts";
import { Schema } from "./content.ts";

const AT_END = /\.v?(\d+\.\d+\.\d+(?:[-+].*)?)$/;

/** The version of a bundle: its text, and its parsed form if it is valid. */
export interface BundleVersion {
  readonly text: string;
  readonly parsed: VersionRelease | undefined;
}

/** Parses a version with an optional explicit release. Keeps the text if it is invalid. */
export function toBundleVersion(text: string, release?: string): BundleVersion {
  try {
    return { text, parsed: parseVersionRelease(text, release) };
  } catch {
    return { text, parsed: undefined };
  }
}

/** Reads the version and the unparsed release from the first `olm.package` property of a bundle; undefined if the bundle has no such property. */
export function readOwnVersion(bundle: Readonly<JsonObject>): (BundleVersion & { readonly release: string | undefined }) | undefined {
  const property = getObjectMembers(bundle, "properties").find((one) => getTextMember(one, "type") === Schema.package);
  const value = property && getObjectMember(property, "value");
  const release = value && getOptionalText(value, "release");
  return value && { ...toBundleVersion(getTextMember(value, "version"), release), release };
}

/**
 * Reads the version at the end of a bundle name, such as `foo.v1.2.0`. Use it for bundles that are no longer in the catalog, because their version is
 * not known from elsewhere.
 */
export function parseVersionInName(name: string): BundleVersion | undefined {
  const text = name.length > 1_024 ? undefined : AT_END.exec(name)?.[1];
  return text === undefined ? undefined : toBundleVersion(text);
}

/** Compares versions. Unknown versions are the oldest. */
export function compareKnownVersions(a: VersionRelease | undefined, b: VersionRelease | undefined): number {
  if (!a || !b) return Number(a !== undefined) - Number(b !== undefined);
  return compareVersionRelease(a, b);
}

/** Maximum length of a range, in characters; the longest in public catalogs has about 40. Catalogs are not trusted, and each range is compared often. */
const MAX_RANGE = 1_024;

/** Returns a function that reports whether a version is in a skipRange. An invalid range contains no version. */
export function compileRangeTest(text: string): (version: BundleVersion | undefined) => boolean {
  const range = tryParseRange(text);
  return (version) => range !== undefined && version?.parsed !== undefined && range.contains(version.parsed.version);
}

/** Parses a version range; undefined if it is invalid or longer than 1,024 characters. */
export function tryParseRange(text: string): SortedRange | undefined {
  if (text.length > MAX_RANGE) return undefined;
  try {
    return parseRange(text);
  } catch {
    return undefined;
  }
}

/** A bundle with the values that determine its order in its package. */
export interface Orderable {
  readonly bundle: { readonly name: string };
  /** Undefined if the version is missing or invalid. */
  readonly version: VersionRelease | undefined;
  readonly deprecated: boolean;
  /** Returns the rank of the first channel that contains the bundle. See `rankChannels`. */
  rank(): number;
}

/**
 * Returns a function that returns the rank of the first channel of a bundle. The default channel is first, followed by the other channels sorted by
 * name.
 */
export function rankChannels(
  defaultChannel: string | undefined,
  channels: readonly { readonly name: string; readonly entries: readonly string[] }[],
): (bundle: string) => number {
  let ranks: Map<string, number> | undefined;
  return (bundle) => (ranks ??= computeRanks(defaultChannel, channels)).get(bundle) ?? Number.POSITIVE_INFINITY;
}

function computeRanks(
  defaultChannel: string | undefined,
  channels: readonly { readonly name: string; readonly entries: readonly string[] }[],
): Map<string, number> {
  const ranks = new Map<string, number>();
  const ordered = channels.toSorted(
    (a, b) => Number(b.name === defaultChannel) - Number(a.name === defaultChannel) || compareText(a.name, b.name),
  );
  ordered.forEach(({ entries }, rank) => {
    for (const name of entries) if (!ranks.has(name)) ranks.set(name, rank);
  });
  return ranks;
}

/**
 * Compares bundles: highest version and release first, bundles without a version last. Bundles with the same version are ordered by the rank of their
 * first channel, then by name.
 */
export function compareNewestFirst(a: Orderable, b: Orderable): number {
  const byVersion = a.version && b.version ? compareVersionRelease(b.version, a.version) : Number(!a.version) - Number(!b.version);
  if (byVersion !== 0 || a.bundle.name === b.bundle.name) return byVersion;
  const [rankA, rankB] = [a.rank(), b.rank()];
  if (rankA !== rankB) return rankA < rankB ? -1 : 1;
  return compareText(a.bundle.name, b.bundle.name);
}

/** Returns the bundle with the latest version in the order of `compareNewestFirst`, even if it is deprecated. */
export function findLatest<T extends Orderable>(bundles: readonly T[]): T | undefined {
  return findMinimum(bundles, compareNewestFirst);
}

/**
 * Returns the bundle that is installed by default: resolution selects it if the extension sets no version or channel. Considers all channels. Prefers
 * bundles that are not deprecated, then the order of `compareNewestFirst`.
 */
export function findDefault<T extends Orderable>(bundles: readonly T[]): T | undefined {
  return findMinimum(bundles, (a, b) => Number(a.deprecated) - Number(b.deprecated) || compareNewestFirst(a, b));
}

function findMinimum<T>(all: readonly T[], compare: (a: T, b: T) => number): T | undefined {
  return all.reduce<T | undefined>((best, next) => (best === undefined || compare(best, next) > 0 ? next : best), undefined);
}

/** An entry of an upgrade graph. */
export interface GraphEntry {
  readonly name: string;
  readonly replaces?: string | undefined;
  readonly skips: readonly string[];
}

/**
 * Returns the heads of a channel, sorted: entries that no other entry replaces or skips. Ignores `skipRange`. A valid channel has exactly one head; a
 * channel whose entries form a cycle has none.
 * @see operator-registry v1.73.0 alpha/model/model.go, Channel.Head
 */
export function findChannelHeads(entries: readonly GraphEntry[]): string[] {
  const followed = new Set<string>();
  for (const { replaces, skips } of entries) {
    if (replaces !== undefined) followed.add(replaces);
    for (const skipped of skips) followed.add(skipped);
  }
  return [...new Set(entries.flatMap(({ name }) => (followed.has(name) ? [] : [name])))].sort();
}
