import { type JsonObject } from "../api/k8s.ts";
import { givenText, objectMember, objectMembers, textMember } from "../golang/members.ts";
import { compareText } from "../text/compare.ts";
import { parseRange, type SortedRange } from "../version/blang.ts";
import { compareVersionRelease, parseVersionRelease, type VersionRelease } from "../version/version.ts";
import { Schema } from "./content.ts";

const AT_END = /\.v?(\d+\.\d+\.\d+(?:[-+].*)?)$/;

/** A bundle's version, as it is written and, where it can be read, what it means. */
export interface BundleVersion {
  readonly text: string;
  readonly parsed: VersionRelease | undefined;
}

/** The version that `text` is, with an explicit release where there is one; a text that is none is kept as it is. */
export function bundleVersion(text: string, release?: string): BundleVersion {
  try {
    return { text, parsed: parseVersionRelease(text, release) };
  } catch {
    return { text, parsed: undefined };
  }
}

/** The version in a bundle's first property `olm.package`, and its release as it is written; undefined for a bundle without that property. */
export function ownVersion(bundle: Readonly<JsonObject>): (BundleVersion & { readonly release: string | undefined }) | undefined {
  const property = objectMembers(bundle, "properties").find((one) => textMember(one, "type") === Schema.package);
  const value = property && objectMember(property, "value");
  const release = value && givenText(value, "release");
  return value && { ...bundleVersion(textMember(value, "version"), release), release };
}

/** The version that a bundle's name ends with, as in `foo.v1.2.0`: all that is known of a bundle that the catalog no longer has. */
export function versionInName(name: string): BundleVersion | undefined {
  const text = name.length > 1_024 ? undefined : AT_END.exec(name)?.[1];
  return text === undefined ? undefined : bundleVersion(text);
}

/** Negative where `a` is the older one; what is not known is the oldest. */
export function compareKnownVersions(a: VersionRelease | undefined, b: VersionRelease | undefined): number {
  if (!a || !b) return Number(a !== undefined) - Number(b !== undefined);
  return compareVersionRelease(a, b);
}

/** Tells whether a bundle's version is in a skipRange; none is in a text that is no range. */
export function rangeTest(text: string): (version: BundleVersion | undefined) => boolean {
  const range = rangeFrom(text);
  return (version) => range !== undefined && version?.parsed !== undefined && range.contains(version.parsed.version);
}

/** The range in a text; undefined where there is none. */
export function rangeFrom(text: string): SortedRange | undefined {
  try {
    return parseRange(text);
  } catch {
    return undefined;
  }
}

/** A bundle among those of its package. */
export interface Orderable {
  readonly bundle: { readonly name: string };
  /** Undefined where it cannot be read. */
  readonly version: VersionRelease | undefined;
  readonly deprecated: boolean;
  /** Place of the first channel that has the bundle, as `channelRanks` counts. */
  rank(): number;
}

/** Returns the place of each bundle's first channel: the default channel comes first, then channels by name. */
export function channelRanks(
  defaultChannel: string | undefined,
  channels: readonly { readonly name: string; readonly entries: readonly string[] }[],
): (bundle: string) => number {
  let ranks: Map<string, number> | undefined;
  return (bundle) => (ranks ??= ranksOf(defaultChannel, channels)).get(bundle) ?? Number.POSITIVE_INFINITY;
}

function ranksOf(
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
 * Orders bundles: highest version, then highest release first; without a version last. Of equal ones that of the default channel comes first, then
 * that of the channel whose name comes first; the bundle's name decides what is left.
 */
export function compareNewestFirst(a: Orderable, b: Orderable): number {
  const byVersion = a.version && b.version ? compareVersionRelease(b.version, a.version) : Number(!a.version) - Number(!b.version);
  if (byVersion !== 0 || a.bundle.name === b.bundle.name) return byVersion;
  const [rankA, rankB] = [a.rank(), b.rank()];
  if (rankA !== rankB) return rankA < rankB ? -1 : 1;
  return compareText(a.bundle.name, b.bundle.name);
}

/** Returns the latest version: the first in the order of `compareNewestFirst`, deprecated or not. */
export function latestOf<T extends Orderable>(bundles: readonly T[]): T | undefined {
  return firstOf(bundles, compareNewestFirst);
}

/**
 * Returns the default version to install, which resolution chooses where nothing limits it: not deprecated before deprecated, then the first in the
 * order of `compareNewestFirst`. Channels do not limit it.
 */
export function defaultOf<T extends Orderable>(bundles: readonly T[]): T | undefined {
  return firstOf(bundles, (a, b) => Number(a.deprecated) - Number(b.deprecated) || compareNewestFirst(a, b));
}

function firstOf<T>(all: readonly T[], compare: (a: T, b: T) => number): T | undefined {
  return all.reduce<T | undefined>((best, next) => (best === undefined || compare(best, next) > 0 ? next : best), undefined);
}

/** What the place of a bundle in a channel depends on. */
export interface GraphEntry {
  readonly name: string;
  readonly replaces?: string | undefined;
  readonly skips: readonly string[];
}

/**
 * The bundles of a channel that nothing in it replaces or skips, sorted; `skipRange` does not count. A sound channel has exactly one. A channel
 * whose entries all follow each other in a circle has none.
 * @see operator-registry v1.73.0 alpha/model/model.go, Channel.Head
 */
export function channelHeads(entries: readonly GraphEntry[]): string[] {
  const followed = new Set<string>();
  for (const { replaces, skips } of entries) {
    if (replaces !== undefined) followed.add(replaces);
    for (const skipped of skips) followed.add(skipped);
  }
  return [...new Set(entries.flatMap(({ name }) => (followed.has(name) ? [] : [name])))].sort();
}
