import { compareText } from "../../text/compare.ts";
import type { PackageLifecycle } from "../lifecycleDocument.ts";
import type { BundleDescription, BundleSupport } from "./bundleSummary.ts";
import { type PackageData, sortBundlesByVersion } from "./packageData.ts";
import { findDeprecationMessage, findLatestBundle, findRepresentative } from "./packageSummary.ts";

/**
 * A version in a search record: name, version, release, indexes in the lists `descriptions`, `supports` and `provided` of the record, 1 if the bundle
 * is deprecated, and the indexes of its channels.
 */
export type SearchedVersion = readonly [
  name: string,
  version: string | null,
  release: string | null,
  description: number,
  support: number,
  provided: number,
  deprecated: 0 | 1,
  channels: readonly number[],
];

/** The searched texts of versions. */
export type SearchedDescription = Pick<BundleDescription, "displayName" | "description" | "provider" | "keywords">;
/** The searched capabilities and platforms of versions. */
export type SearchedSupport = Pick<BundleSupport, "capability" | "architectures" | "operatingSystems" | "infrastructureFeatures">;

/** The search data of a package. Values that several versions share are stored once. */
export interface SearchRecord {
  package: string;
  defaultChannel?: string | undefined;
  /** The version that is installed by default. */
  defaultVersion?: string | undefined;
  /** The latest version, even if it is deprecated. */
  latestVersion?: string | undefined;
  /** Truncated description of the olm.package object. */
  text?: string | undefined;
  deprecated?: string | undefined;
  /** Index of the description that represents the package. */
  presented?: number | undefined;
  channels: { name: string; deprecated?: true | undefined }[];
  descriptions: SearchedDescription[];
  supports: SearchedSupport[];
  /** Distinct provided APIs in the form `group/version/kind`. */
  apis: string[];
  /** Lists of indexes in `apis`. */
  provided: number[][];
  /** In descending order of version. */
  versions: SearchedVersion[];
  /** Support phases; absent if the catalog has none. */
  lifecycle?: PackageLifecycle | undefined;
}

/** Returns the search record of a package. */
export function createSearchRecord(data: PackageData): SearchRecord {
  const bundles = sortBundlesByVersion(data.bundles);
  const getChannels = channelIndexes(data);
  const deprecated = new Set(data.deprecations.flatMap(({ schema, name }) => (schema === "olm.bundle" ? [name] : [])));
  const apis = [...new Set(bundles.flatMap(({ provided }) => data.apis.at(provided)))];
  const indexes = new Map(apis.map((api, index) => [api, index]));
  return {
    package: data.name,
    defaultChannel: data.stated.defaultChannel,
    defaultVersion: findRepresentative(data)?.bundle.version,
    latestVersion: findLatestBundle(data)?.version,
    text: data.stated.description,
    deprecated: findDeprecationMessage(data, "olm.package"),
    presented: findRepresentative(data)?.bundle.description,
    channels: data.channels.map(({ name }) => ({
      name,
      deprecated: findDeprecationMessage(data, "olm.channel", name) === undefined ? undefined : true,
    })),
    descriptions: data.descriptions.values.map(({ displayName, description, provider, keywords }) => ({
      displayName,
      description,
      provider,
      keywords,
    })),
    supports: data.supports.values.map(({ capability, architectures, operatingSystems, infrastructureFeatures }) => ({
      capability,
      architectures,
      operatingSystems,
      infrastructureFeatures,
    })),
    apis,
    provided: data.apis.values.map((list) => list.flatMap((api) => indexes.get(api) ?? [])),
    versions: bundles.map((bundle) => [
      bundle.name,
      bundle.version ?? null,
      bundle.release ?? null,
      bundle.description,
      bundle.support,
      bundle.provided,
      deprecated.has(bundle.name) ? 1 : 0,
      getChannels.get(bundle.name) ?? [],
    ]),
    lifecycle: data.lifecycle,
  };
}

/** Returns the indexes of channels that contain each bundle. */
function channelIndexes({ channels }: PackageData): Map<string, number[]> {
  const indexes = new Map<string, number[]>();
  channels.forEach(({ entries }, index) => {
    for (const name of new Set(entries)) {
      const list = indexes.get(name);
      if (list) list.push(index);
      else indexes.set(name, [index]);
    }
  });
  return indexes;
}

/** The searched texts of a package. */
export interface SearchedTexts {
  readonly name: string;
  readonly displayNames: readonly string[];
  readonly keywords: readonly string[];
  /** Provided kinds. */
  readonly kinds: readonly string[];
  readonly providers: readonly string[];
  readonly descriptions: readonly string[];
}

/** Scores of a match: the whole text, a word of it, or a part of a word. */
const SCORES = {
  name: [100, 60, 40],
  displayNames: [70, 45, 30],
  kinds: [50, 50, 20],
  keywords: [40, 35, 15],
  providers: [15, 12, 6],
  descriptions: [10, 10, 4],
} as const satisfies Record<keyof SearchedTexts, readonly [number, number, number]>;

/**
 * Scores how well a package matches search words. Higher is better. Ignores case.
 * @returns undefined if a word is not found; 0 if there are no words.
 */
export function scoreRelevance(texts: SearchedTexts, words: readonly string[]): number | undefined {
  let sum = 0;
  for (const word of new Set(words.map((one) => one.toLowerCase()))) {
    const score =
      bestScore([texts.name], word, SCORES.name) +
      bestScore(texts.displayNames, word, SCORES.displayNames) +
      bestScore(texts.kinds, word, SCORES.kinds) +
      bestScore(texts.keywords, word, SCORES.keywords) +
      bestScore(texts.providers, word, SCORES.providers) +
      bestScore(texts.descriptions, word, SCORES.descriptions);
    if (score === 0) return undefined;
    sum += score;
  }
  return sum;
}

/** Returns the best score of a word in the texts. @param word in lower case. */
function bestScore(texts: readonly string[], word: string, [whole, asWord, asPiece]: readonly [number, number, number]): number {
  let best = 0;
  for (const text of texts) {
    const lower = text.toLowerCase();
    if (lower === word) return whole;
    if (!lower.includes(word)) continue;
    best = Math.max(best, lower.split(/[^\p{L}\p{N}]+/u).includes(word) ? asWord : asPiece);
  }
  return best;
}

/** Maximum length of compared names. */
const MAX_LENGTH = 128;
const MAX_FOUND = 3;

/** Finds names that are similar to an unknown name: they contain it or differ in a few letters. Returns at most three names, nearest first. */
export function findSimilarNames(unknown: string, names: readonly string[]): string[] {
  const target = unknown.toLowerCase().slice(0, MAX_LENGTH);
  const most = Math.max(1, Math.floor(target.length / 3));
  return names
    .flatMap((name) => {
      const lower = name.toLowerCase();
      if (lower.length > MAX_LENGTH || target === "") return [];
      const distance = lower.includes(target) || target.includes(lower) ? 0.5 : editDistance(target, lower, most);
      return distance <= most ? [{ name, distance }] : [];
    })
    .sort((a, b) => a.distance - b.distance || a.name.length - b.name.length || compareText(a.name, b.name))
    .slice(0, MAX_FOUND)
    .map(({ name }) => name);
}

/** Computes the edit distance. If the lengths differ by more than `most`, returns a larger number than `most` without computing it. */
function editDistance(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, change));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
