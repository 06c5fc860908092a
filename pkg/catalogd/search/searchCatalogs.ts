import { setImmediate as nextTurn } from "node:timers/promises";
import type { SearchedVersion } from "../../fbc/summary/search.ts";
import { isDeprecated, matchingVersions, type SearchedPackage } from "./searchedPackage.ts";
import type { SearchIndex } from "./searchIndex.ts";
import type { SearchQuery } from "./searchQuery.ts";

/** One matching version. */
export interface SearchMatch {
  bundle: string;
  version?: string | undefined;
  release?: string | undefined;
  channels: string[];
  deprecated?: true | undefined;
}

/** One package of one catalog with at least one matching version. */
export interface SearchEntry {
  catalog: string;
  package: string;
  displayName?: string | undefined;
  description?: string | undefined;
  provider?: string | undefined;
  defaultChannel?: string | undefined;
  /** The default version to install. */
  defaultVersion?: string | undefined;
  /** The latest version, deprecated or not. */
  latestVersion?: string | undefined;
  deprecated?: string | undefined;
  /** How many versions match. */
  matchCount: number;
  /** The highest of them, highest first. */
  matches: SearchMatch[];
}

/** Which of the entries are wanted. */
export interface SearchPage {
  /** Entries after this one; from the beginning without. */
  readonly after?: { readonly catalog: string; readonly package: string } | undefined;
  /** Most entries. */
  readonly limit: number;
  /** Most matching versions of an entry. */
  readonly matches: number;
  readonly signal: AbortSignal;
}

/** One page of what was found. */
export interface SearchResult {
  items: SearchEntry[];
  /** How many entries there are on all pages. */
  total: number;
  /** True where more entries follow. */
  more: boolean;
}

const MAX_CHANNELS = 64;
/** Longest time that others wait. */
const SLICE_MS = 5;

/**
 * Evaluates a query on every version of every package. Entries come in order of catalog and package.
 * @param catalogs in order of name.
 * @throws the signal's reason when it aborts.
 */
export async function searchCatalogs(
  catalogs: readonly { readonly name: string; readonly index: SearchIndex }[],
  query: SearchQuery,
  { after, limit, matches, signal }: SearchPage,
): Promise<SearchResult> {
  signal.throwIfAborted();
  const result: SearchResult = { items: [], total: 0, more: false };
  let started = performance.now();
  for (const { name: catalog, index } of catalogs) {
    for (const one of index.packages) {
      if (performance.now() - started > SLICE_MS) {
        await nextTurn();
        signal.throwIfAborted();
        started = performance.now();
      }
      const versions = matchingVersions(one, query);
      if (versions.length === 0) continue;
      result.total++;
      if (after && !follows(catalog, one.name, after)) continue;
      if (result.items.length === limit) result.more = true;
      else result.items.push(entryOf(catalog, one, versions, matches));
    }
  }
  return result;
}

function follows(catalog: string, name: string, after: { readonly catalog: string; readonly package: string }): boolean {
  return catalog === after.catalog ? name > after.package : catalog > after.catalog;
}

function entryOf(catalog: string, one: SearchedPackage, versions: readonly SearchedVersion[], matches: number): SearchEntry {
  const { displayName, description, provider, defaultChannel, defaultVersion, latestVersion, deprecated } = one;
  return {
    catalog,
    package: one.name,
    displayName,
    description,
    provider,
    defaultChannel,
    defaultVersion,
    latestVersion,
    deprecated,
    matchCount: versions.length,
    matches: versions.slice(0, matches).map((version) => ({
      bundle: version[0],
      version: version[1] ?? undefined,
      release: version[2] ?? undefined,
      channels: version[7].slice(0, MAX_CHANNELS).map((index) => one.channels[index]?.name ?? ""),
      deprecated: isDeprecated(one, version) ? true : undefined,
    })),
  };
}
