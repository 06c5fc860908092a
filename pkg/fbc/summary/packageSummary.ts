import { truncate } from "../../text/truncate.ts";
import type { VersionRelease } from "../../version/version.ts";
import { MAX_TEXT } from "../boundedTexts.ts";
import { channelRanks, defaultOf, latestOf } from "../bundleOrder.ts";
import type { BundleDescription, BundleSupport, StatedVersion } from "./bundleSummary.ts";
import { type BundleFacts, type PackageFacts, sortBundlesByVersion, versionIn } from "./packageFacts.ts";

/** A bundle by name and version. */
export interface NamedVersion extends StatedVersion {
  bundle: string;
}

/** A channel of a package. */
export interface ChannelSummary {
  name: string;
  /** What nothing in the channel replaces or skips; one in a sound channel. */
  heads: NamedVersion[];
  entries: number;
  /** Why the channel is deprecated. */
  deprecated?: string | undefined;
}

/** The version that a package is presented by. */
export interface HeadSummary extends NamedVersion, BundleSupport {
  /** Absent when it is the head of no channel. */
  channel?: string | undefined;
  deprecated?: string | undefined;
  containerImage?: string | undefined;
  createdAt?: string | undefined;
  relatedImages: number;
  /** Each `group/version/kind`. */
  providedAPIs: string[];
  requiredAPIs: string[];
}

/** What at least one version of a package supports; each list sorted. */
export interface AnyVersion {
  capabilities: string[];
  installModes: string[];
  architectures: string[];
  operatingSystems: string[];
  infrastructureFeatures: string[];
}

/** One package of a catalog: what a list of packages tells. All lists and texts are bounded. */
export interface PackageSummary extends BundleDescription {
  package: string;
  /** `sha256:…`; another one exactly when a meta of the package was added, changed or removed. */
  digest: string;
  defaultChannel?: string | undefined;
  /** Whether the catalog has an icon for it. */
  icon: boolean;
  /** Why the package is deprecated. */
  deprecated?: string | undefined;
  /** In the catalog's order. */
  channels: ChannelSummary[];
  /** How many bundles there are. */
  bundles: number;
  /** Highest first. */
  versions: string[];
  deprecatedBundles?: { bundle: string; message: string }[] | undefined;
  /** The default version to install: what resolution chooses where nothing limits it. */
  head?: HeadSummary | undefined;
  /** The latest version, deprecated or not. */
  latest?: NamedVersion | undefined;
  anyVersion: AnyVersion;
  /** True where lists had to be cut. */
  incomplete?: true | undefined;
}

const MAX_VERSIONS = 1_000;
const MAX_HEADS = 64;
const MAX_DEPRECATED = 1_000;

/**
 * The summary of a package. It is presented by its default version to install, which resolution chooses where nothing limits it.
 */
export function packageSummary(facts: PackageFacts): PackageSummary {
  const { stated, channels, deprecations } = facts;
  const bundles = sortBundlesByVersion(facts.bundles);
  const byName = new Map(bundles.toReversed().map((bundle) => [bundle.name, bundle]));
  const head = presentedBy(facts);
  const latest = latestBundle(facts);
  const { description: text, ...description } = head ? facts.descriptions.at(head.bundle.description) : {};
  const deprecatedBundles = deprecations.filter(({ schema }) => schema === "olm.bundle");
  const cut = bundles.length > MAX_VERSIONS || deprecatedBundles.length > MAX_DEPRECATED;
  return {
    package: facts.name,
    digest: facts.digest,
    defaultChannel: stated.defaultChannel,
    icon: stated.icon,
    ...description,
    description: text ?? (stated.description === undefined ? undefined : truncate(stated.description.trim(), MAX_TEXT)),
    deprecated: messageFor(facts, "olm.package"),
    channels: channels.map((channel) => ({
      name: channel.name,
      heads: channel.heads.slice(0, MAX_HEADS).map((name) => named(name, byName.get(name))),
      entries: channel.entries.length,
      deprecated: messageFor(facts, "olm.channel", channel.name),
    })),
    bundles: facts.bundleCount,
    versions: [...new Set(bundles.flatMap(({ version }) => version ?? []))].slice(0, MAX_VERSIONS),
    deprecatedBundles:
      deprecatedBundles.length === 0
        ? undefined
        : deprecatedBundles.slice(0, MAX_DEPRECATED).map(({ name, message }) => ({ bundle: name, message })),
    head: head && headSummary(facts, head),
    latest: latest && named(latest.name, latest),
    anyVersion: anyVersionOf(facts),
    incomplete: facts.incomplete || cut ? true : undefined,
  };
}

/** A bundle and the channel whose head it is. */
export interface Presented {
  bundle: BundleFacts;
  channel?: string | undefined;
}

/** Returns the bundle that a package is presented by: its default version to install. */
export function presentedBy(facts: PackageFacts): Presented | undefined {
  const bundle = defaultOf(orderable(facts))?.bundle;
  if (!bundle) return undefined;
  const { stated, channels } = facts;
  const headed = channels.filter(({ heads }) => heads.includes(bundle.name));
  return { bundle, channel: (headed.find(({ name }) => name === stated.defaultChannel) ?? headed[0])?.name };
}

/** Returns the bundle with the latest version of a package, deprecated or not. */
export function latestBundle(facts: PackageFacts): BundleFacts | undefined {
  return latestOf(orderable(facts))?.bundle;
}

function orderable(
  facts: PackageFacts,
): { bundle: BundleFacts; version: VersionRelease | undefined; deprecated: boolean; rank: () => number }[] {
  const { bundles, stated, channels, deprecations } = facts;
  const rankOf = channelRanks(stated.defaultChannel, channels);
  const deprecated = new Set(deprecations.flatMap(({ schema, name }) => (schema === "olm.bundle" ? [name] : [])));
  return bundles.map((bundle) => ({
    bundle,
    version: versionIn(bundle),
    deprecated: deprecated.has(bundle.name),
    rank: () => rankOf(bundle.name),
  }));
}

/** Why something is deprecated; undefined when it is not. A reason that the catalog leaves empty is told as "deprecated". */
export function messageFor({ deprecations }: PackageFacts, schema: string, name = ""): string | undefined {
  const found = deprecations.find((one) => one.schema === schema && one.name === name);
  return found && (found.message || "deprecated");
}

function headSummary(facts: PackageFacts, { bundle, channel }: Presented): HeadSummary {
  return {
    ...named(bundle.name, bundle),
    channel,
    deprecated: messageFor(facts, "olm.bundle", bundle.name),
    ...facts.supports.at(bundle.support),
    containerImage: bundle.containerImage,
    createdAt: bundle.createdAt,
    relatedImages: bundle.relatedImages,
    providedAPIs: facts.apis.at(bundle.provided),
    requiredAPIs: facts.apis.at(bundle.required),
  };
}

function named(bundle: string, stated: StatedVersion | undefined): NamedVersion {
  return { bundle, version: stated?.version, release: stated?.release };
}

function anyVersionOf({ supports }: PackageFacts): AnyVersion {
  const union = (of: (support: BundleSupport) => readonly string[]): string[] => [...new Set(supports.values.flatMap(of))].sort();
  return {
    capabilities: union(({ capability }) => (capability === undefined ? [] : [capability])),
    installModes: union(({ installModes }) => installModes),
    architectures: union(({ architectures }) => architectures),
    operatingSystems: union(({ operatingSystems }) => operatingSystems),
    infrastructureFeatures: union((support) => support.infrastructureFeatures),
  };
}
