import { normalizeFeatureName } from "../../fbc/summary/bundleSummary.ts";
import type { SearchedDescription, SearchedSupport, SearchedVersion, SearchRecord } from "../../fbc/summary/search.ts";

/**
 * Search parameters. An absent or empty member does not restrict the result. If a package or
 * channel is repeated, one of the values must match; if another parameter is repeated, all values
 * must match.
 */
export interface SearchParameters {
  text?: string | undefined;
  package?: readonly string[] | undefined;
  gvk?: readonly string[] | undefined;
  keyword?: readonly string[] | undefined;
  channel?: readonly string[] | undefined;
  arch?: readonly string[] | undefined;
  os?: readonly string[] | undefined;
  feature?: readonly string[] | undefined;
  capability?: string | undefined;
  deprecated?: boolean | undefined;
}

/** Parameters prepared for comparison. Case-insensitive values are in lower case. */
export interface SearchQuery {
  readonly words: readonly string[];
  readonly packages: ReadonlySet<string> | undefined;
  readonly apis: readonly ApiPattern[];
  readonly keywords: readonly string[];
  readonly channels: ReadonlySet<string> | undefined;
  readonly architectures: readonly string[];
  readonly operatingSystems: readonly string[];
  readonly features: readonly string[];
  readonly capability: string | undefined;
  readonly deprecated: boolean | undefined;
}

/** An API pattern with optional parts. */
interface ApiPattern {
  readonly group?: string;
  readonly version?: string;
  readonly kind: string;
}

const MAX_TEXT_WORDS = 16;

/**
 * Prepares parameters for comparison.
 * @throws Error with the name of the invalid parameter and the reason.
 */
export function parseSearchQuery(parameters: SearchParameters): SearchQuery {
  const { text = "", capability, deprecated } = parameters;
  const words = small(text.split(/\s+/)).filter((word) => word !== "");
  if (words.length > MAX_TEXT_WORDS) throw new Error(`text: too many words: ${words.length}, maximum ${MAX_TEXT_WORDS}`);
  return {
    words: [...new Set(words)],
    packages: toSet(parameters.package),
    apis: (parameters.gvk ?? []).map(parseApiPattern),
    keywords: small(parameters.keyword),
    channels: toSet(parameters.channel),
    architectures: small(parameters.arch),
    operatingSystems: small(parameters.os),
    features: (parameters.feature ?? []).map(normalizeFeatureName),
    capability: capability?.toLowerCase(),
    deprecated,
  };
}

/**
 * Parses `group/version/kind`, `kind.group` or `kind`, in lower case. @throws Error for anything
 * else.
 */
export function parseApiPattern(text: string): ApiPattern {
  const pieces = text.toLowerCase().split("/");
  if (pieces.length === 3) {
    const [group = "", version = "", kind = ""] = pieces;
    if (version !== "" && kind !== "") return { group, version, kind };
  } else if (pieces.length === 1) {
    const [only = ""] = pieces;
    const dot = only.indexOf(".");
    if (dot < 0 && only !== "") return { kind: only };
    if (dot > 0 && dot < only.length - 1) return { kind: only.slice(0, dot), group: only.slice(dot + 1) };
  }
  throw new Error(`gvk: ${JSON.stringify(text)} is not group/version/kind, kind.group or kind`);
}

function small(texts: readonly string[] = []): string[] {
  return texts.map((text) => text.toLowerCase());
}

function toSet(texts: readonly string[] | undefined): ReadonlySet<string> | undefined {
  return texts && texts.length > 0 ? new Set(texts) : undefined;
}

/** Values that the versions of a package share, in lower case for comparison. */
interface SharedTexts {
  text: string;
  keywords: readonly string[];
}

/** A package in the search index. */
export interface SearchedPackage {
  readonly name: string;
  readonly displayName: string | undefined;
  readonly description: string | undefined;
  readonly provider: string | undefined;
  readonly defaultChannel: string | undefined;
  readonly defaultVersion: string | undefined;
  readonly latestVersion: string | undefined;
  readonly deprecated: string | undefined;
  readonly channels: SearchRecord["channels"];
  /** Name and descriptive texts of the package, in lower case. */
  readonly text: string;
  readonly descriptions: readonly SharedTexts[];
  readonly supports: readonly SearchedSupport[];
  /** Each `group/version/kind`, in lower case. */
  readonly apis: readonly string[];
  readonly provided: readonly (readonly number[])[];
  readonly versions: readonly SearchedVersion[];
}

/**
 * Prepares a record for the search index. Texts that are only compared are stored in lower case.
 */
export function prepareSearchedPackage(record: SearchRecord): SearchedPackage {
  const {
    text = "",
    presented,
    descriptions,
    supports,
    apis,
    provided,
    versions,
    channels,
    deprecated,
    defaultChannel,
    defaultVersion,
    latestVersion,
  } = record;
  const shown = presented === undefined ? undefined : descriptions[presented];
  return {
    name: record.package,
    displayName: shown?.displayName,
    description: shown?.description,
    provider: shown?.provider,
    defaultChannel,
    defaultVersion,
    latestVersion,
    deprecated,
    channels,
    text: `${record.package}\n${text}`.toLowerCase(),
    descriptions: descriptions.map(prepareWords),
    supports: supports.map((support) => ({
      capability: support.capability?.toLowerCase(),
      architectures: support.architectures.map((name) => name.toLowerCase()),
      operatingSystems: support.operatingSystems.map((name) => name.toLowerCase()),
      infrastructureFeatures: support.infrastructureFeatures,
    })),
    apis: apis.map((api) => api.toLowerCase()),
    provided,
    versions,
  };
}

function prepareWords({ displayName = "", description = "", provider = "", keywords = [] }: SearchedDescription): SharedTexts {
  const own = keywords.map((keyword) => keyword.toLowerCase());
  return {
    text: [displayName, description, provider]
      .map((text) => text.toLowerCase())
      .concat(own)
      .join("\n"),
    keywords: own,
  };
}

/** Returns the versions of a package that match all parameters, highest first. */
export function findMatchingVersions(one: SearchedPackage, query: SearchQuery): SearchedVersion[] {
  if (query.packages && !query.packages.has(one.name)) return [];
  const descriptions = one.descriptions.map((described) => hasKeywords(described, query));
  const supports = one.supports.map((support) => isSupported(support, query));
  const desired = query.apis.map((pattern) => new Set(one.apis.flatMap((api, index) => (isApi(api, pattern) ? [index] : []))));
  const provided = one.provided.map((list) => desired.every((indexes) => list.some((index) => indexes.has(index))));
  // For each word that the package's own texts do not contain, the descriptions and lists of APIs that contain it.
  const words = query.words
    .filter((word) => !one.text.includes(word))
    .map((word) => ({
      descriptions: one.descriptions.map(({ text }) => text.includes(word)),
      provided: one.provided.map((list) => list.some((index) => getKind(one.apis[index]).includes(word))),
    }));
  return one.versions.filter(
    (version) =>
      words.every((found) => found.descriptions[version[3]] === true || found.provided[version[5]] === true) &&
      descriptions[version[3]] === true &&
      supports[version[4]] === true &&
      provided[version[5]] === true &&
      isInChannel(one, version, query) &&
      (query.deprecated === undefined || query.deprecated === isDeprecated(one, version)),
  );
}

/** Returns whether a version is deprecated: the version itself, its package, or all its channels. */
export function isDeprecated(one: SearchedPackage, [, , , , , , deprecated, channels]: SearchedVersion): boolean {
  if (deprecated === 1 || one.deprecated !== undefined) return true;
  return channels.length > 0 && channels.every((index) => one.channels[index]?.deprecated === true);
}

function hasKeywords({ keywords }: SharedTexts, query: SearchQuery): boolean {
  return query.keywords.every((keyword) => keywords.includes(keyword));
}

/** Returns the kind of an API in the form `group/version/kind`. */
function getKind(api = ""): string {
  return api.slice(api.lastIndexOf("/") + 1);
}

function isSupported(support: SearchedSupport, { architectures, operatingSystems, features, capability }: SearchQuery): boolean {
  return (
    architectures.every((name) => support.architectures.includes(name)) &&
    operatingSystems.every((name) => support.operatingSystems.includes(name)) &&
    features.every((name) => support.infrastructureFeatures.includes(name)) &&
    (capability === undefined || support.capability === capability)
  );
}

function isApi(api: string, { group, version, kind }: ApiPattern): boolean {
  const [ownGroup, ownVersion, ownKind] = api.split("/");
  return ownKind === kind && (group === undefined || ownGroup === group) && (version === undefined || ownVersion === version);
}

function isInChannel({ channels }: SearchedPackage, version: SearchedVersion, query: SearchQuery): boolean {
  const desired = query.channels;
  return !desired || version[7].some((index) => desired.has(channels[index]?.name ?? ""));
}
