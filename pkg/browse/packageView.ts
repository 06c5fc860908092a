import { compareNewestFirst } from "../fbc/bundleOrder.ts";
import { type BundleDetails, readBundleDetails, readExampleKind } from "../fbc/summary/bundleDetails.ts";
import { type BundleDescription, type BundleSupport, type StatedVersion, summarizeCatalogBundle } from "../fbc/summary/bundleSummary.ts";
import type { BundleData, PackageData } from "../fbc/summary/packageData.ts";
import { type ChannelSummary, findDeprecationMessage, findRepresentative, summarizePackage } from "../fbc/summary/packageSummary.ts";
import type { Meta, PackageContent } from "../fbc/types.ts";
import { goQuote } from "../golang/quote.ts";
import { listCandidates } from "../resolve/candidates.ts";
import { describeConstraint } from "../resolve/constraint/evaluate.ts";
import { parseConstraints } from "../resolve/constraint/parse.ts";
import { type BundleMetadata, findDestinations, SearchBudget } from "../resolve/successors.ts";
import { findCandidates } from "../resolve/whyNot.ts";
import { compareText } from "../text/compare.ts";
import { formatList } from "../text/lists.ts";
import { formatVersionRelease } from "../version/version.ts";

/** A package in one catalog. */
export interface PackageInCatalog {
  readonly catalog: string;
  readonly priority: number;
  readonly name: string;
  readonly metas: readonly Meta[];
  readonly content: PackageContent;
  readonly facts: PackageData;
  /** Highest version first. */
  readonly bundles: readonly BundleData[];
}

/** Maximum number of versions listed in an error. */
const MAX_SHOWN = 5;

/** Finds a bundle by version (with or without release) or by name. @throws Error that lists available versions */
export function findBundleByText({ name, bundles, content, catalog }: PackageInCatalog, text: string): BundleData {
  const [meant] = findCandidates(listCandidates(content, new Set()), text).sort(compareNewestFirst);
  const found = bundles.find((bundle) => bundle.name === meant?.bundle.name);
  if (found) return found;
  const newest = formatList(
    bundles.map(({ name: own, version }) => version ?? own),
    { max: MAX_SHOWN, rest: () => "…" },
  );
  throw new Error(`package ${goQuote(name)} has no version ${goQuote(text)} in catalog ${catalog}; the newest are ${newest}`);
}

/** Returns the head of a channel, or the newest of several heads. @throws Error that lists the available channels if the channel does not exist */
function findHead({ name, facts, bundles }: PackageInCatalog, channel: string): BundleData | undefined {
  const found = facts.channels.find((one) => one.name === channel);
  if (!found)
    throw new Error(
      formatMissingChannel(
        name,
        channel,
        facts.channels.map((one) => one.name),
      ),
    );
  const heads = new Set(found.heads);
  return bundles.find((bundle) => heads.has(bundle.name));
}

/** Formats the error for a channel that does not exist. */
export function formatMissingChannel(packageName: string, channel: string, channels: readonly string[]): string {
  return `package ${goQuote(packageName)} has no channel ${goQuote(channel)}; available: ${channels.toSorted(compareText).join(", ")}`;
}

/** Returns the result of the first catalog for which `ask` does not throw. @throws the error of the first catalog if `ask` throws for all catalogs */
export function findFirst<T>(
  all: readonly [PackageInCatalog, ...PackageInCatalog[]],
  ask: (one: PackageInCatalog) => T,
): { found: PackageInCatalog; requested: T } {
  for (const found of all) {
    try {
      return { found, requested: ask(found) };
    } catch {
      // another catalog may contain it
    }
  }
  return { found: all[0], requested: ask(all[0]) };
}

/** One version of a package, as printed by `show`. */
interface VersionView extends StatedVersion, BundleSupport {
  readonly bundle: string;
  /** The image of the bundle. */
  readonly image?: string | undefined;
  /** Image of the operator, according to the bundle author. */
  readonly containerImage?: string | undefined;
  readonly createdAt?: string | undefined;
  readonly relatedImages: readonly string[];
  readonly channels: readonly string[];
  readonly deprecated?: string | undefined;
  /** Each `group/version/kind`. */
  readonly providedAPIs: readonly string[];
  readonly requiredAPIs: readonly string[];
  /** Descriptions of its dependencies. */
  readonly requires: readonly string[];
}

/** A package and one version of it. */
export interface PackageView extends Omit<BundleDescription, "description">, Omit<BundleDetails, "examples"> {
  readonly package: string;
  readonly catalog: string;
  readonly description?: string | undefined;
  readonly deprecated?: string | undefined;
  readonly defaultChannel?: string | undefined;
  readonly channels: readonly ChannelSummary[];
  readonly deprecatedBundles: readonly { readonly bundle: string; readonly message: string }[];
  /** Highest first. */
  readonly versions: readonly string[];
  /** The default version of a new installation, which resolution selects without a version range or channels. */
  readonly defaultVersion?: string | undefined;
  /** The latest version, deprecated or not. */
  readonly latestVersion?: string | undefined;
  /** The described version. */
  readonly version: VersionView;
  /** Kinds that have examples; absent if the catalog does not contain examples. */
  readonly exampleKinds?: readonly string[] | undefined;
  /** Other catalogs with the package, and their head versions. */
  readonly alsoIn: readonly { readonly catalog: string; readonly version?: string | undefined }[];
}

/** The requested version of a package; if no field is set, the head of the package. */
export interface RequestedVersion {
  readonly version?: string | undefined;
  readonly channel?: string | undefined;
}

/** Returns the requested bundle with its meta. @throws Error if the bundle does not exist */
export function findRequestedBundle(found: PackageInCatalog, { version, channel }: RequestedVersion): BundleData {
  const bundle =
    version !== undefined
      ? findBundleByText(found, version)
      : channel !== undefined
        ? findHead(found, channel)
        : findRepresentative(found.facts)?.bundle;
  if (!bundle)
    throw new Error(
      `package "${found.name}" has no ${channel === undefined ? "bundles" : `head in channel "${channel}"`} in catalog ${found.catalog}`,
    );
  return bundle;
}

/** Returns the description of a package and one of its versions. @param others the package in other catalogs */
export function buildPackageView(found: PackageInCatalog, bundle: BundleData, others: readonly PackageInCatalog[]): PackageView {
  const { facts, content, metas, catalog } = found;
  const summary = summarizePackage(facts);
  const meta = metas.find(({ schema, name }) => schema === "olm.bundle" && name === bundle.name) ?? {
    schema: "",
    package: "",
    name: "",
    blob: {},
  };
  const { description, support, apis } = summarizeCatalogBundle(meta);
  const { examples, ...details } = readDetails(meta);
  const stated = content.bundles.find(({ name }) => name === bundle.name);
  return {
    package: found.name,
    catalog,
    ...description,
    description: description.description ?? facts.stated.description,
    deprecated: summary.deprecated,
    defaultChannel: summary.defaultChannel,
    channels: summary.channels,
    deprecatedBundles: summary.deprecatedBundles ?? [],
    versions: summary.versions,
    defaultVersion: summary.head?.version,
    latestVersion: summary.latest?.version,
    version: {
      bundle: bundle.name,
      version: bundle.version,
      release: bundle.release,
      image: stated?.image === "" ? undefined : stated?.image,
      containerImage: bundle.containerImage,
      createdAt: bundle.createdAt,
      relatedImages: (stated?.relatedImages ?? []).map(({ image }) => image),
      channels: facts.channels.filter(({ entries }) => entries.includes(bundle.name)).map(({ name }) => name),
      deprecated: findDeprecationMessage(facts, "olm.bundle", bundle.name),
      ...support,
      providedAPIs: apis.provided,
      requiredAPIs: apis.required,
      requires: stated ? describeRequirements(stated) : [],
    },
    ...details,
    exampleKinds: examples?.map(readExampleKind),
    alsoIn: others.map((other) => ({ catalog: other.catalog, version: findRepresentative(other.facts)?.bundle.version })),
  };
}

/** Ignores invalid examples; `show --examples` reports them. */
function readDetails(meta: Parameters<typeof readBundleDetails>[0]): BundleDetails {
  try {
    return readBundleDetails(meta, { examples: true });
  } catch {
    return { ...readBundleDetails(meta), examples: undefined };
  }
}

/** Describes constraints, including invalid ones. */
function describeRequirements(bundle: Parameters<typeof parseConstraints>[0]): string[] {
  const { constraints, faults } = parseConstraints(bundle, { compile: () => () => false });
  return [...constraints.map(describeConstraint), ...faults.map(({ type, reason }) => `invalid ${type}: ${reason}`)];
}

/** The upgrade path to a version from an installed one. */
interface Reached {
  /** The ClusterExtension; absent if an option set the installed version. */
  readonly extension?: string;
  readonly from: string;
  /** Intermediate versions, in the order of the upgrades; empty for a direct upgrade. */
  readonly through: readonly string[];
}

/** One version of a package in one catalog. */
export interface VersionRow {
  readonly catalog: string;
  readonly bundle: string;
  readonly version?: string | undefined;
  readonly release?: string | undefined;
  readonly channels: readonly string[];
  /** The channels whose head is this version. */
  readonly headOf: readonly string[];
  readonly createdAt?: string | undefined;
  /** Why the bundle, its package, or all of its channels are deprecated. */
  readonly deprecated?: string | undefined;
  /** Extensions with this installed version; "" if an option set the installed version. */
  readonly installedBy: readonly string[];
  readonly reached: readonly Reached[];
}

/** An installed version to upgrade from. */
export interface InstalledStart {
  readonly extension?: string;
  readonly bundle: BundleMetadata;
}

/** Lists the versions of a package in its catalogs, highest first. @param channels channels to include; empty for all */
export function listVersionRows(
  all: readonly PackageInCatalog[],
  channels: readonly string[],
  starts: readonly InstalledStart[],
): VersionRow[] {
  const maps = all.map(({ catalog, content }) => ({
    catalog,
    channels: content.channels.filter(({ name }) => channels.length === 0 || channels.includes(name)),
    candidates: listCandidates(content, new Set()),
  }));
  const budget = new SearchBudget();
  const ways = starts.map((start) => ({
    start,
    to: new Map(findDestinations(maps, start.bundle, budget).map((way) => [way.candidate.bundle.name, way])),
  }));
  const rows = all.flatMap((found, at) =>
    (maps[at]?.candidates ?? []).flatMap((candidate) => {
      const facts = found.bundles.find(({ name }) => name === candidate.bundle.name);
      if (!facts) return [];
      const row = toRow(found, facts, channels);
      if (channels.length > 0 && row.channels.length === 0) return [];
      const reached = ways.flatMap(({ start, to }): Reached[] => {
        const way = to.get(facts.name);
        const through = way?.through.map(({ bundle, version }) => (version ? formatVersionRelease(version) : bundle.name));
        const { extension } = start;
        return through ? [{ ...(extension === undefined ? {} : { extension }), from: start.bundle.version, through }] : [];
      });
      const installedBy = starts.flatMap(({ bundle, extension }) => (bundle.name === facts.name ? [extension ?? ""] : []));
      return [{ candidate, row: { ...row, installedBy, reached } }];
    }),
  );
  return rows
    .sort((a, b) => compareNewestFirst(a.candidate, b.candidate) || compareText(a.row.catalog, b.row.catalog))
    .map(({ row }) => row);
}

function toRow(
  { catalog, facts }: PackageInCatalog,
  bundle: BundleData,
  requested: readonly string[],
): Omit<VersionRow, "installedBy" | "reached"> {
  const own = facts.channels.filter(({ entries }) => entries.includes(bundle.name));
  const shown = own.filter(({ name }) => requested.length === 0 || requested.includes(name));
  const byChannel = own.map(({ name }) => findDeprecationMessage(facts, "olm.channel", name));
  return {
    catalog,
    bundle: bundle.name,
    version: bundle.version,
    release: bundle.release,
    channels: shown.map(({ name }) => name),
    headOf: shown.filter(({ heads }) => heads.includes(bundle.name)).map(({ name }) => name),
    createdAt: bundle.createdAt,
    deprecated:
      findDeprecationMessage(facts, "olm.bundle", bundle.name) ??
      findDeprecationMessage(facts, "olm.package") ??
      (byChannel.every((message) => message !== undefined) ? byChannel[0] : undefined),
  };
}
