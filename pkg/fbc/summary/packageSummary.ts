import { truncate } from "../../text/truncate.ts";
import type { VersionRelease } from "../../version/version.ts";
import { MAX_TEXT } from "../boundedTexts.ts";
import { findDefault, findLatest, rankChannels } from "../bundleOrder.ts";
import type { BundleDescription, BundleSupport, StatedVersion } from "./bundleSummary.ts";
import { type BundleData, type Deprecation, type PackageData, parseStatedVersion, sortBundlesByVersion } from "./packageData.ts";

/** The name and version of a bundle. */
export interface NamedVersion extends StatedVersion {
  bundle: string;
}

/** A channel of a package. */
export interface ChannelSummary {
  name: string;
  /** Entries that no other entry replaces or skips; exactly one in a valid channel. */
  heads: NamedVersion[];
  entries: number;
  /** Deprecation message of the channel. */
  deprecated?: string | undefined;
}

/** The version that represents a package. */
export interface HeadSummary extends NamedVersion, BundleSupport {
  /** The channel whose head is this version; absent if this version is not a head. */
  channel?: string | undefined;
  deprecated?: string | undefined;
  containerImage?: string | undefined;
  createdAt?: string | undefined;
  relatedImages: number;
  /** In the form `group/version/kind`. */
  providedAPIs: string[];
  requiredAPIs: string[];
}

/** Capabilities and platforms that at least one version of a package supports. Lists are sorted. */
export interface AnyVersion {
  capabilities: string[];
  installModes: string[];
  architectures: string[];
  operatingSystems: string[];
  infrastructureFeatures: string[];
}

/** The summary of a package, for package lists. The length of all lists and texts is limited. */
export interface PackageSummary extends BundleDescription {
  package: string;
  /** `sha256:…`. Changes if and only if a meta of the package is added, changed or removed. */
  digest: string;
  defaultChannel?: string | undefined;
  /** Whether the package has an icon. */
  icon: boolean;
  /** Deprecation message of the package. */
  deprecated?: string | undefined;
  /** In the order of the catalog. */
  channels: ChannelSummary[];
  /** Number of bundles. */
  bundles: number;
  /** In descending order. */
  versions: string[];
  deprecatedBundles?: { bundle: string; message: string }[] | undefined;
  /** The version that is installed by default. */
  head?: HeadSummary | undefined;
  /** The latest version, even if it is deprecated. */
  latest?: NamedVersion | undefined;
  anyVersion: AnyVersion;
  /** True if lists are truncated. */
  incomplete?: true | undefined;
}

const MAX_VERSIONS = 1_000;
const MAX_HEADS = 64;
const MAX_DEPRECATED = 1_000;

/** Returns the summary of a package. The version that is installed by default represents the package. */
export function summarizePackage(data: PackageData): PackageSummary {
  const { stated, channels, deprecations } = data;
  const bundles = sortBundlesByVersion(data.bundles);
  const byName = new Map(bundles.toReversed().map((bundle) => [bundle.name, bundle]));
  const head = findRepresentative(data);
  const latest = findLatestBundle(data);
  const { description: text, ...description } = head ? data.descriptions.at(head.bundle.description) : {};
  const deprecatedBundles = deprecations.filter(({ schema }) => schema === "olm.bundle");
  const cut = bundles.length > MAX_VERSIONS || deprecatedBundles.length > MAX_DEPRECATED;
  return {
    package: data.name,
    digest: data.digest,
    defaultChannel: stated.defaultChannel,
    icon: stated.icon,
    ...description,
    description: text ?? (stated.description === undefined ? undefined : truncate(stated.description.trim(), MAX_TEXT)),
    deprecated: findDeprecationMessage(data, "olm.package"),
    channels: channels.map((channel) => ({
      name: channel.name,
      heads: channel.heads.slice(0, MAX_HEADS).map((name) => named(name, byName.get(name))),
      entries: channel.entries.length,
      deprecated: findDeprecationMessage(data, "olm.channel", channel.name),
    })),
    bundles: data.bundleCount,
    versions: [...new Set(bundles.flatMap(({ version }) => version ?? []))].slice(0, MAX_VERSIONS),
    deprecatedBundles:
      deprecatedBundles.length === 0
        ? undefined
        : deprecatedBundles.slice(0, MAX_DEPRECATED).map(({ name, message }) => ({ bundle: name, message })),
    head: head && headSummary(data, head),
    latest: latest && named(latest.name, latest),
    anyVersion: summarizeVersions(data),
    incomplete: data.incomplete || cut ? true : undefined,
  };
}

/** A bundle and the channel whose head it is. */
export interface Representative {
  bundle: BundleData;
  channel?: string | undefined;
}

/** Returns the bundle that represents a package: the version that is installed by default. */
export function findRepresentative(data: PackageData): Representative | undefined {
  const bundle = findDefault(orderable(data))?.bundle;
  if (!bundle) return undefined;
  const { stated, channels } = data;
  const headed = channels.filter(({ heads }) => heads.includes(bundle.name));
  return { bundle, channel: (headed.find(({ name }) => name === stated.defaultChannel) ?? headed[0])?.name };
}

/** Returns the bundle with the latest version of a package, even if it is deprecated. */
export function findLatestBundle(data: PackageData): BundleData | undefined {
  return findLatest(orderable(data))?.bundle;
}

function orderable(
  data: PackageData,
): { bundle: BundleData; version: VersionRelease | undefined; deprecated: boolean; rank: () => number }[] {
  const { bundles, stated, channels, deprecations } = data;
  const getRank = rankChannels(stated.defaultChannel, channels);
  const deprecated = new Set(deprecations.flatMap(({ schema, name }) => (schema === "olm.bundle" ? [name] : [])));
  return bundles.map((bundle) => ({
    bundle,
    version: parseStatedVersion(bundle),
    deprecated: deprecated.has(bundle.name),
    rank: () => getRank(bundle.name),
  }));
}

/** Returns a deprecation message; undefined if there is no deprecation, "deprecated" if the message is empty. */
export function findDeprecationMessage({ deprecations }: PackageData, schema: string, name = ""): string | undefined {
  const found = deprecations.find((one) => one.schema === schema && one.name === name);
  return found && formatDeprecation(found);
}

/** Returns the message of a deprecation; "deprecated" if it is empty. */
export function formatDeprecation({ message }: Deprecation): string {
  return message || "deprecated";
}

function headSummary(data: PackageData, { bundle, channel }: Representative): HeadSummary {
  return {
    ...named(bundle.name, bundle),
    channel,
    deprecated: findDeprecationMessage(data, "olm.bundle", bundle.name),
    ...data.supports.at(bundle.support),
    containerImage: bundle.containerImage,
    createdAt: bundle.createdAt,
    relatedImages: bundle.relatedImages,
    providedAPIs: data.apis.at(bundle.provided),
    requiredAPIs: data.apis.at(bundle.required),
  };
}

function named(bundle: string, stated: StatedVersion | undefined): NamedVersion {
  return { bundle, version: stated?.version, release: stated?.release };
}

function summarizeVersions({ supports }: PackageData): AnyVersion {
  const union = (of: (support: BundleSupport) => readonly string[]): string[] => [...new Set(supports.values.flatMap(of))].sort();
  return {
    capabilities: union(({ capability }) => (capability === undefined ? [] : [capability])),
    installModes: union(({ installModes }) => installModes),
    architectures: union(({ architectures }) => architectures),
    operatingSystems: union(({ operatingSystems }) => operatingSystems),
    infrastructureFeatures: union((support) => support.infrastructureFeatures),
  };
}
