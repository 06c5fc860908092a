import { metaFrom } from "../../pkg/fbc/content.ts";
import { type ChannelEntry, type FbcBundle, type FbcDeprecations, type PackageContent } from "../../pkg/fbc/types.ts";
import { type KnownBundleIndex } from "../../pkg/operatorcontroller/catalogs/catalogBundleIndexes.ts";
import { type BundleIndex, BundleIndexBuilder } from "../../pkg/resolve/dependencies/bundleIndex.ts";
import { type LabeledCatalog } from "../../pkg/resolve/resolution.ts";
import { type ClusterVersion, minorOf } from "../../pkg/version/clusterVersion.ts";

/** A bundle by its name alone, the version being what stands behind the first ".v", or with what differs from that. */
export type BundleFixture =
  | string
  | {
      name: string;
      version?: string | null;
      release?: string;
      image?: string;
      /** Value of olm.maxOpenShiftVersion. */
      max?: unknown;
      properties?: { type: string; value: unknown }[];
    };

/** One catalog with one package, as short as a case can say it. */
export interface CatalogFixture {
  priority?: number;
  labels?: Record<string, string>;
  /** Why it cannot answer. */
  unavailable?: string;
  /** What it reports about itself. */
  reports?: string;
  /** What it said when it last answered; null for a catalog without the package. */
  lastKnown?: CatalogFixture | null;
  /** The package's default channel; none unless it is given. */
  defaultChannel?: string;
  /** Entries by channel; an entry that is only a name has no edges. */
  channels?: Record<string, (string | ChannelEntry)[]>;
  bundles?: BundleFixture[];
  /** Deprecated bundles. */
  deprecated?: string[];
}

/** A cluster's version as a case says it: a version, why it is not known, or nothing for no OpenShift cluster. */
export type ClusterFixture = string | { unknown: string };

/** The cluster that a fixture stands for. */
export function clusterFrom(fixture: ClusterFixture | undefined): ClusterVersion {
  if (fixture === undefined) return { kind: "none" };
  return typeof fixture === "string"
    ? { kind: "known", text: fixture, minor: minorOf(fixture) }
    : { kind: "unknown", because: fixture.unknown };
}

/** The catalogs of a case, each with the label that catalogs have by their name. */
export function catalogsFrom(fixtures: Readonly<Record<string, CatalogFixture>>, packageName: string): LabeledCatalog[] {
  return Object.entries(fixtures).map(([name, fixture]) => ({
    name,
    priority: fixture.priority ?? 0,
    labels: { "olm.operatorframework.io/metadata.name": name, ...fixture.labels },
    content: fixture.bundles || fixture.channels ? contentFrom(fixture, packageName) : undefined,
    ...(fixture.unavailable === undefined ? {} : { unavailable: fixture.unavailable }),
    ...(fixture.reports === undefined ? {} : { reports: fixture.reports }),
    ...(fixture.lastKnown === undefined
      ? {}
      : { lastKnown: { content: fixture.lastKnown === null ? undefined : contentFrom(fixture.lastKnown, packageName) } }),
  }));
}

/** The package content that a fixture stands for. */
export function contentFrom(
  { channels = {}, bundles = [], deprecated = [], defaultChannel }: CatalogFixture,
  packageName: string,
): PackageContent {
  return {
    package: { name: packageName, ...(defaultChannel === undefined ? {} : { defaultChannel }) },
    channels: Object.entries(channels).map(([name, entries]) => ({
      name,
      package: packageName,
      entries: entries.map((entry) => (typeof entry === "string" ? { name: entry } : entry)),
    })),
    bundles: bundles.map((bundle) => bundleFrom(bundle, packageName)),
    deprecations: deprecated.length > 0 ? [deprecationsFrom(deprecated, packageName)] : [],
    others: 0,
  };
}

function bundleFrom(fixture: BundleFixture, packageName: string): FbcBundle {
  const {
    name,
    version,
    release,
    max,
    properties = [],
    image,
  }: Exclude<BundleFixture, string> = typeof fixture === "string" ? { name: fixture } : fixture;
  const value = { packageName, version: version ?? name.slice(name.indexOf(".v") + 2), ...(release === undefined ? {} : { release }) };
  const own = version === null ? [] : [{ type: "olm.package", value }];
  const limit = max === undefined ? [] : [{ type: "olm.maxOpenShiftVersion", value: max }];
  return { name, package: packageName, image: image ?? `registry.example/${name}`, properties: [...own, ...limit, ...properties] };
}

function deprecationsFrom(names: readonly string[], packageName: string): FbcDeprecations {
  return { package: packageName, entries: names.map((name) => ({ reference: { schema: "olm.bundle", name }, message: `${name} is old` })) };
}

/** The index of a catalog that holds these packages. */
function bundleIndexOf(contents: Iterable<PackageContent | undefined>): BundleIndex {
  const builder = new BundleIndexBuilder();
  for (const content of contents) for (const bundle of content?.bundles ?? []) builder.add(metaFrom({ schema: "olm.bundle", ...bundle }));
  return builder.build();
}

/** The same as a reader gives it. */
export function knownIndexOf(contents: Iterable<PackageContent | undefined>): Promise<KnownBundleIndex> {
  return Promise.resolve({ index: bundleIndexOf(contents), tags: new Map() });
}
