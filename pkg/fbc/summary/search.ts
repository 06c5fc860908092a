import { compareText } from "../../text/compare.ts";
import type { BundleDescription, BundleSupport } from "./bundleSummary.ts";
import { type PackageFacts, sortBundlesByVersion } from "./packageFacts.ts";
import { latestBundle, messageFor, presentedBy } from "./packageSummary.ts";

/**
 * One version as searches see it: name, version, release, then indexes into lists of the record (`descriptions`, `supports`, `provided`), 1 where
 * the bundle itself is deprecated, and the indexes of its channels.
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

/** What versions of a package say of themselves, as far as it is searched. */
export type SearchedDescription = Pick<BundleDescription, "displayName" | "description" | "provider" | "keywords">;
/** Where versions of a package run, as far as it is searched. */
export type SearchedSupport = Pick<BundleSupport, "capability" | "architectures" | "operatingSystems" | "infrastructureFeatures">;

/** All that a search needs to know of one package. What versions have in common is there once. */
export interface SearchRecord {
  package: string;
  defaultChannel?: string | undefined;
  /** The default version to install. */
  defaultVersion?: string | undefined;
  /** The latest version, deprecated or not. */
  latestVersion?: string | undefined;
  /** What the olm.package object says, the beginning of it. */
  text?: string | undefined;
  deprecated?: string | undefined;
  /** Index of the description that the package is presented by. */
  presented?: number | undefined;
  channels: { name: string; deprecated?: true | undefined }[];
  descriptions: SearchedDescription[];
  supports: SearchedSupport[];
  /** Different APIs that versions provide, each `group/version/kind`. */
  apis: string[];
  /** Lists of indexes into `apis`. */
  provided: number[][];
  /** Highest version first. */
  versions: SearchedVersion[];
}

/** The record of a package. */
export function searchRecord(facts: PackageFacts): SearchRecord {
  const bundles = sortBundlesByVersion(facts.bundles);
  const channelsOf = channelIndexes(facts);
  const deprecated = new Set(facts.deprecations.flatMap(({ schema, name }) => (schema === "olm.bundle" ? [name] : [])));
  const apis = [...new Set(bundles.flatMap(({ provided }) => facts.apis.at(provided)))];
  const indexes = new Map(apis.map((api, index) => [api, index]));
  return {
    package: facts.name,
    defaultChannel: facts.stated.defaultChannel,
    defaultVersion: presentedBy(facts)?.bundle.version,
    latestVersion: latestBundle(facts)?.version,
    text: facts.stated.description,
    deprecated: messageFor(facts, "olm.package"),
    presented: presentedBy(facts)?.bundle.description,
    channels: facts.channels.map(({ name }) => ({
      name,
      deprecated: messageFor(facts, "olm.channel", name) === undefined ? undefined : true,
    })),
    descriptions: facts.descriptions.values.map(({ displayName, description, provider, keywords }) => ({
      displayName,
      description,
      provider,
      keywords,
    })),
    supports: facts.supports.values.map(({ capability, architectures, operatingSystems, infrastructureFeatures }) => ({
      capability,
      architectures,
      operatingSystems,
      infrastructureFeatures,
    })),
    apis,
    provided: facts.apis.values.map((list) => list.flatMap((api) => indexes.get(api) ?? [])),
    versions: bundles.map((bundle) => [
      bundle.name,
      bundle.version ?? null,
      bundle.release ?? null,
      bundle.description,
      bundle.support,
      bundle.provided,
      deprecated.has(bundle.name) ? 1 : 0,
      channelsOf.get(bundle.name) ?? [],
    ]),
  };
}

/** The channels that each bundle is an entry of. */
function channelIndexes({ channels }: PackageFacts): Map<string, number[]> {
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

/** What a package says of itself, as far as a search for words looks at it. */
export interface SearchedTexts {
  readonly name: string;
  readonly displayNames: readonly string[];
  readonly keywords: readonly string[];
  /** Kinds that it provides. */
  readonly kinds: readonly string[];
  readonly providers: readonly string[];
  readonly descriptions: readonly string[];
}

/** What a word is worth where it is found: as the whole, as a word of it, as a piece of a word. */
const WORTH = {
  name: [100, 60, 40],
  displayNames: [70, 45, 30],
  kinds: [50, 50, 20],
  keywords: [40, 35, 15],
  providers: [15, 12, 6],
  descriptions: [10, 10, 4],
} as const satisfies Record<keyof SearchedTexts, readonly [number, number, number]>;

/**
 * How well a package answers a search for words: higher is better. Letters match whatever their case.
 * @returns undefined where one of the words stands nowhere; 0 for no words.
 */
export function scoreRelevance(texts: SearchedTexts, words: readonly string[]): number | undefined {
  let sum = 0;
  for (const word of new Set(words.map((one) => one.toLowerCase()))) {
    const worth =
      worthIn([texts.name], word, WORTH.name) +
      worthIn(texts.displayNames, word, WORTH.displayNames) +
      worthIn(texts.kinds, word, WORTH.kinds) +
      worthIn(texts.keywords, word, WORTH.keywords) +
      worthIn(texts.providers, word, WORTH.providers) +
      worthIn(texts.descriptions, word, WORTH.descriptions);
    if (worth === 0) return undefined;
    sum += worth;
  }
  return sum;
}

/** What the best of the texts is worth for a word. @param word in small letters. */
function worthIn(texts: readonly string[], word: string, [whole, asWord, asPiece]: readonly [number, number, number]): number {
  let best = 0;
  for (const text of texts) {
    const small = text.toLowerCase();
    if (small === word) return whole;
    if (!small.includes(word)) continue;
    best = Math.max(best, small.split(/[^\p{L}\p{N}]+/u).includes(word) ? asWord : asPiece);
  }
  return best;
}

/** Longer names are not compared. */
const MAX_LENGTH = 128;
const MAX_FOUND = 3;

/** The names that may have been meant by one that there is not: those that it is a piece of, or that differ by a few letters; nearest first, at most three. */
export function closestNames(meant: string, names: readonly string[]): string[] {
  const wanted = meant.toLowerCase().slice(0, MAX_LENGTH);
  const most = Math.max(1, Math.floor(wanted.length / 3));
  return names
    .flatMap((name) => {
      const small = name.toLowerCase();
      if (small.length > MAX_LENGTH || wanted === "") return [];
      const distance = small.includes(wanted) || wanted.includes(small) ? 0.5 : differences(wanted, small, most);
      return distance <= most ? [{ name, distance }] : [];
    })
    .sort((a, b) => a.distance - b.distance || a.name.length - b.name.length || compareText(a.name, b.name))
    .slice(0, MAX_FOUND)
    .map(({ name }) => name);
}

/** Letters to put in, take out or change; more than `most` where that is certain. */
function differences(a: string, b: string, most: number): number {
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
