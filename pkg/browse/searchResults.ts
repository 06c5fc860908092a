import type { PackageEntry } from "../catalogcache/catalogCache.ts";
import { findMatchingVersions, isDeprecated, prepareSearchedPackage, type SearchQuery } from "../catalogd/search/searchQuery.ts";
import { findBundleSupport } from "../fbc/summary/packageData.ts";
import { type SearchedTexts, type SearchedVersion, type SearchRecord, scoreRelevance } from "../fbc/summary/search.ts";
import { isSupported, type SupportQuery, UNKNOWN_SUPPORT, type VersionSupport } from "../fbc/versionSupport.ts";
import { compareText } from "../text/compare.ts";

/** Why a user cannot install a package on the cluster, as part of a sentence. */
export type InstallObstacle = string;

/** A package found by a search. */
export interface PackageMatch {
  readonly package: string;
  readonly catalog: string;
  readonly displayName?: string | undefined;
  readonly description?: string | undefined;
  readonly provider?: string | undefined;
  readonly channel?: string | undefined;
  /** The default version if it matches, otherwise the highest matching version. */
  readonly version?: string | undefined;
  readonly bundle: string;
  /** The default version of a new installation, which resolution selects without a version range or channels. */
  readonly defaultVersion?: string | undefined;
  /** The latest version, deprecated or not. */
  readonly latestVersion?: string | undefined;
  readonly capability?: string | undefined;
  readonly architectures: readonly string[];
  readonly operatingSystems: readonly string[];
  /** Kinds that the version provides, without duplicates. */
  readonly kinds: readonly string[];
  /** Why the package is deprecated, or true if only this version is deprecated. */
  readonly deprecated?: string | true | undefined;
  /** Support of the version; absent if the catalog has no support phases of the package, or the time is not known. */
  readonly support?: VersionSupport | undefined;
  /** Number of matching versions. */
  readonly matches: number;
  /** Whether the user can install it on the cluster; absent without a cluster. */
  readonly installable?: boolean;
  /** Why the user cannot install the package. */
  readonly hindrances?: readonly InstallObstacle[];
}

/** A search result with its sort keys. */
export interface RankedResult {
  readonly found: PackageMatch;
  readonly entry: PackageEntry;
  readonly score: number;
  readonly priority: number;
}

/** A search request. Unlike `query.words`, `words` also match the kinds that a version provides. */
export interface SearchRequest {
  readonly words: readonly string[];
  readonly query: SearchQuery;
  /** When and where support is determined. */
  readonly when?: SupportQuery | undefined;
  /** Whether to find only supported versions. */
  readonly supportedOnly?: boolean | undefined;
}

/** Returns the packages in a catalog that have a version that matches the whole query, in any order. */
export function searchCatalog(
  catalog: { name: string; priority: number },
  packages: readonly PackageEntry[],
  { words, query, when, supportedOnly = false }: SearchRequest,
): RankedResult[] {
  return packages.flatMap((entry) => {
    const one = prepareSearchedPackage(entry.record);
    const getSupport = ([, version, release]: SearchedVersion): VersionSupport | undefined =>
      when && findBundleSupport(entry.record.lifecycle, { version: version ?? undefined, release: release ?? undefined }, when);
    const matching = findMatchingVersions(one, query);
    const versions = supportedOnly ? matching.filter((version) => isSupported(getSupport(version) ?? UNKNOWN_SUPPORT)) : matching;
    const [highest] = versions;
    if (!highest) return [];
    const score = scoreRelevance(getSearchedTexts(entry.record, versions), words);
    if (score === undefined) return [];
    const shown = versions.find(([bundle]) => bundle === entry.head?.bundle) ?? highest;
    const reason = entry.record.deprecated ?? (isDeprecated(one, shown) ? true : undefined);
    const found = toResult(catalog.name, entry, shown, { deprecated: reason, support: getSupport(shown), matches: versions.length });
    return [{ found, entry, score: reason === undefined ? score : score / 2, priority: catalog.priority }];
  });
}

/** Sorts results: best match first, then by name, then by catalog priority, then in the given order. */
export function rankResults(all: readonly RankedResult[]): RankedResult[] {
  return all.toSorted((a, b) => b.score - a.score || compareText(a.found.package, b.found.package) || b.priority - a.priority);
}

function toResult(
  catalog: string,
  { record, head }: PackageEntry,
  shown: SearchedVersion,
  matchInfo: Pick<PackageMatch, "deprecated" | "matches" | "support">,
): PackageMatch {
  const [bundle, version, , description, support, provided, , channels] = shown;
  const presented = record.descriptions[record.presented ?? description] ?? record.descriptions[description];
  const { capability, architectures = [], operatingSystems = [] } = record.supports[support] ?? {};
  return {
    package: record.package,
    catalog,
    displayName: presented?.displayName,
    description: presented?.description ?? record.text,
    provider: presented?.provider,
    channel: bundle === head?.bundle && head.channel !== undefined ? head.channel : pickChannel(record, channels),
    version: version ?? undefined,
    bundle,
    defaultVersion: record.defaultVersion,
    latestVersion: record.latestVersion,
    capability,
    architectures,
    operatingSystems,
    kinds: listKinds(record, provided),
    ...matchInfo,
  };
}

/** Returns the default channel if the list contains it, otherwise the first channel. */
function pickChannel({ channels, defaultChannel }: SearchRecord, indexes: readonly number[]): string | undefined {
  const names = indexes.flatMap((index) => channels[index]?.name ?? []);
  return names.find((name) => name === defaultChannel) ?? names[0];
}

function listKinds({ apis, provided }: SearchRecord, list: number): string[] {
  return [...new Set((provided[list] ?? []).map((index) => apis[index]?.split("/").at(-1) ?? ""))];
}

function getSearchedTexts(record: SearchRecord, versions: readonly SearchedVersion[]): SearchedTexts {
  const descriptions = [...new Set(versions.map((version) => version[3]))].flatMap((index) => record.descriptions[index] ?? []);
  const lists = [...new Set(versions.map((version) => version[5]))];
  return {
    name: record.package,
    displayNames: descriptions.flatMap(({ displayName }) => displayName ?? []),
    keywords: descriptions.flatMap(({ keywords }) => keywords ?? []),
    kinds: [...new Set(lists.flatMap((list) => listKinds(record, list)))],
    providers: descriptions.flatMap(({ provider }) => provider ?? []),
    descriptions: [...descriptions.flatMap(({ description }) => description ?? []), ...(record.text === undefined ? [] : [record.text])],
  };
}
