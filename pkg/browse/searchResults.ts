import type { PackageEntry } from "../catalogcache/catalogCache.ts";
import { isDeprecated, matchingVersions, type SearchQuery, searchedPackage } from "../catalogd/search/searchQuery.ts";
import { type SearchedTexts, type SearchedVersion, type SearchRecord, scoreRelevance } from "../fbc/summary/search.ts";
import { compareText } from "../text/compare.ts";

/** What keeps a user from installing something here, in a clause. */
export type Hindrance = string;

/** A package that a search found. */
export interface Found {
  readonly package: string;
  readonly catalog: string;
  readonly displayName?: string | undefined;
  readonly description?: string | undefined;
  readonly provider?: string | undefined;
  readonly channel?: string | undefined;
  /** The default version to install where it matches, else the highest version that does. */
  readonly version?: string | undefined;
  readonly bundle: string;
  /** The default version to install, which resolution chooses where nothing limits it. */
  readonly defaultVersion?: string | undefined;
  /** The latest version, deprecated or not. */
  readonly latestVersion?: string | undefined;
  readonly capability?: string | undefined;
  readonly architectures: readonly string[];
  readonly operatingSystems: readonly string[];
  /** Kinds that the version provides, each once. */
  readonly kinds: readonly string[];
  /** Why the package is deprecated, or true where only this version is. */
  readonly deprecated?: string | true | undefined;
  /** How many versions match. */
  readonly matches: number;
  /** Whether this user could install it on this cluster; absent where no cluster is asked. */
  readonly installable?: boolean;
  /** Why not. */
  readonly hindrances?: readonly Hindrance[];
}

/** A package that was found, and what order depends on. */
export interface Ranked {
  readonly found: Found;
  readonly entry: PackageEntry;
  readonly score: number;
  readonly priority: number;
}

/** What is looked for. `words` stand apart from the rest of the query, since they are looked for in kinds, too. */
export interface SearchRequest {
  readonly words: readonly string[];
  readonly query: SearchQuery;
}

/** The packages of a catalog that have a version which matches all of the query, in any order. */
export function foundIn(
  catalog: { name: string; priority: number },
  packages: readonly PackageEntry[],
  { words, query }: SearchRequest,
): Ranked[] {
  return packages.flatMap((entry) => {
    const one = searchedPackage(entry.record);
    const versions = matchingVersions(one, query);
    const [highest] = versions;
    if (!highest) return [];
    const score = scoreRelevance(textsOf(entry.record, versions), words);
    if (score === undefined) return [];
    const shown = versions.find(([bundle]) => bundle === entry.head?.bundle) ?? highest;
    const reason = entry.record.deprecated ?? (isDeprecated(one, shown) ? true : undefined);
    const found = foundOf(catalog.name, entry, shown, { deprecated: reason, matches: versions.length });
    return [{ found, entry, score: reason === undefined ? score : score / 2, priority: catalog.priority }];
  });
}

/** Best first, of equal ones by name; of one name that of the catalog with the higher priority, else in the order given. */
export function rankResults(all: readonly Ranked[]): Ranked[] {
  return all.toSorted((a, b) => b.score - a.score || compareText(a.found.package, b.found.package) || b.priority - a.priority);
}

function foundOf(
  catalog: string,
  { record, head }: PackageEntry,
  shown: SearchedVersion,
  told: Pick<Found, "deprecated" | "matches">,
): Found {
  const [bundle, version, , description, support, provided, , channels] = shown;
  const presented = record.descriptions[record.presented ?? description] ?? record.descriptions[description];
  const { capability, architectures = [], operatingSystems = [] } = record.supports[support] ?? {};
  return {
    package: record.package,
    catalog,
    displayName: presented?.displayName,
    description: presented?.description ?? record.text,
    provider: presented?.provider,
    channel: bundle === head?.bundle && head.channel !== undefined ? head.channel : channelOf(record, channels),
    version: version ?? undefined,
    bundle,
    defaultVersion: record.defaultVersion,
    latestVersion: record.latestVersion,
    capability,
    architectures,
    operatingSystems,
    kinds: kindsOf(record, provided),
    ...told,
  };
}

/** The default channel where it is one of them, else the first. */
function channelOf({ channels, defaultChannel }: SearchRecord, indexes: readonly number[]): string | undefined {
  const names = indexes.flatMap((index) => channels[index]?.name ?? []);
  return names.find((name) => name === defaultChannel) ?? names[0];
}

function kindsOf({ apis, provided }: SearchRecord, list: number): string[] {
  return [...new Set((provided[list] ?? []).map((index) => apis[index]?.split("/").at(-1) ?? ""))];
}

function textsOf(record: SearchRecord, versions: readonly SearchedVersion[]): SearchedTexts {
  const descriptions = [...new Set(versions.map((version) => version[3]))].flatMap((index) => record.descriptions[index] ?? []);
  const lists = [...new Set(versions.map((version) => version[5]))];
  return {
    name: record.package,
    displayNames: descriptions.flatMap(({ displayName }) => displayName ?? []),
    keywords: descriptions.flatMap(({ keywords }) => keywords ?? []),
    kinds: [...new Set(lists.flatMap((list) => kindsOf(record, list)))],
    providers: descriptions.flatMap(({ provider }) => provider ?? []),
    descriptions: [...descriptions.flatMap(({ description }) => description ?? []), ...(record.text === undefined ? [] : [record.text])],
  };
}
