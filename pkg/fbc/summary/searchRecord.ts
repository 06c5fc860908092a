import type { BundleDescription, BundleSupport } from "./bundleSummary.ts";
import { newestFirst, type PackageFacts } from "./packageFacts.ts";
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
  const bundles = newestFirst(facts.bundles);
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
