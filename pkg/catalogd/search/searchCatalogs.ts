import { setImmediate as nextTurn } from "node:timers/promises";
import * as z from "zod";
import type { SearchedVersion } from "../../fbc/summary/search.ts";
import { tryParseJson } from "../../golang/json.ts";
import type { SearchIndex } from "./searchIndex.ts";
import { findMatchingVersions, isDeprecated, type SearchedPackage, type SearchQuery } from "./searchQuery.ts";

/** One matching version. */
export interface SearchMatch {
  bundle: string;
  version?: string | undefined;
  release?: string | undefined;
  channels: string[];
  deprecated?: true | undefined;
}

/** A package of a catalog with at least one matching version. */
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
  /** Number of matching versions. */
  matchCount: number;
  /** The highest matching versions, highest first. */
  matches: SearchMatch[];
}

/** Selects a page of the entries. */
export interface SearchPage {
  /** The entry after which the page starts; undefined for the first page. */
  readonly after?: { readonly catalog: string; readonly package: string } | undefined;
  /** Maximum number of entries. */
  readonly limit: number;
  /** Maximum number of matching versions per entry. */
  readonly matches: number;
  readonly signal: AbortSignal;
}

/** One page of search results. */
export interface SearchResult {
  items: SearchEntry[];
  /** Total number of entries on all pages. */
  total: number;
  /** True if more entries follow. */
  more: boolean;
}

const MAX_CHANNELS = 64;
/** Maximum time until the search yields to other work. */
const SLICE_MS = 5;

/**
 * Returns the entries that match a query, sorted by catalog and package. Checks every version of
 * every package.
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
      const versions = findMatchingVersions(one, query);
      if (versions.length === 0) continue;
      result.total++;
      if (after && !follows(catalog, one.name, after)) continue;
      if (result.items.length === limit) result.more = true;
      else result.items.push(createEntry(catalog, one, versions, matches));
    }
  }
  return result;
}

function follows(catalog: string, name: string, after: { readonly catalog: string; readonly package: string }): boolean {
  return catalog === after.catalog ? name > after.package : catalog > after.catalog;
}

function createEntry(catalog: string, one: SearchedPackage, versions: readonly SearchedVersion[], matches: number): SearchEntry {
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

/** The position at which a search resumes. */
export interface SearchPosition {
  /** Catalog of the last returned entry. */
  readonly catalog: string;
  readonly package: string;
  /** Identifies the query; a token is only valid for the same query. */
  readonly query: string;
  /** Identifies the searched contents; a token is only valid while they are unchanged. */
  readonly content: string;
}

const Token = z.tuple([z.literal(1), z.string(), z.string(), z.string(), z.string()]);
const MAX_TOKEN = 4_096;

/** Encodes a position as an opaque token. */
export function formatContinueToken({ query, content, catalog, package: name }: SearchPosition): string {
  return Buffer.from(JSON.stringify([1, query, content, catalog, name] satisfies z.input<typeof Token>)).toString("base64url");
}

/** Decodes a token of `formatContinueToken`; undefined for any other text. */
export function parsePosition(token: string): SearchPosition | undefined {
  if (token.length > MAX_TOKEN || !/^[\w-]+$/.test(token)) return undefined;
  const parsed = Token.safeParse(tryParseJson(Buffer.from(token, "base64url").toString("utf8")));
  if (!parsed.success) return undefined;
  const [, query, content, catalog, name] = parsed.data;
  return { query, content, catalog, package: name };
}
