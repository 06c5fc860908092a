import { toMeta } from "../../pkg/fbc/content.ts";
import { type PackageLifecycle } from "../../pkg/fbc/lifecycleDocument.ts";
import { type ChannelEntry, type FbcBundle, type FbcDeprecations, type PackageContent } from "../../pkg/fbc/types.ts";
import { type KnownBundleIndex } from "../../pkg/operatorcontroller/catalogs/catalogBundleIndexes.ts";
import { type BundleIndex, BundleIndexBuilder } from "../../pkg/resolve/dependencies/bundleIndex.ts";
import { type LabeledCatalog } from "../../pkg/resolve/resolution.ts";
import { type ClusterVersion, parseMinorVersion } from "../../pkg/version/clusterVersion.ts";

/** A bundle as its name, which contains the version after the first ".v", or with other members. */
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

/** One catalog with one package, in the short form of cases. */
export interface CatalogFixture {
  priority?: number;
  labels?: Record<string, string>;
  /** Why the catalog cannot be read. */
  unavailable?: string;
  /** Its status conditions. */
  reports?: string;
  /** Its last readable content; null for a catalog without the package. */
  lastKnown?: CatalogFixture | null;
  /** The package's default channel; unset by default. */
  defaultChannel?: string;
  /** Entries by channel; an entry without members has no edges. */
  channels?: Record<string, (string | ChannelEntry)[]>;
  bundles?: BundleFixture[];
  /** Deprecated bundles. */
  deprecated?: string[];
  /** Support phases by minor version, each `NAME FIRST-DAY LAST-DAY`, and after "on" the supported OpenShift versions. */
  lifecycle?: Record<string, { phases: string[]; on?: string[] }>;
}

/** The cluster version in a case: a version, the reason why it is unknown, or undefined for a cluster other than OpenShift. */
export type ClusterFixture = string | { unknown: string };

/** Creates the cluster that a fixture describes. */
export function clusterFrom(fixture: ClusterFixture | undefined): ClusterVersion {
  if (fixture === undefined) return { kind: "none" };
  return typeof fixture === "string"
    ? { kind: "known", text: fixture, minor: parseMinorVersion(fixture) }
    : { kind: "unknown", reason: fixture.unknown };
}

/** Creates the catalogs of a case, each with the label for its name. */
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

/** Creates the package content that a fixture describes. */
export function contentFrom(
  { channels = {}, bundles = [], deprecated = [], defaultChannel, lifecycle }: CatalogFixture,
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
    ...(lifecycle ? { lifecycle: lifecycleFrom(lifecycle) } : {}),
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

/** Creates the index of a catalog with these packages. */
export function bundleIndexOf(contents: Iterable<PackageContent | undefined>): BundleIndex {
  const builder = new BundleIndexBuilder();
  for (const content of contents) for (const bundle of content?.bundles ?? []) builder.add(toMeta({ schema: "olm.bundle", ...bundle }));
  return builder.build();
}

/** Creates the index in the form that a reader returns. */
export function indexPackages(contents: Iterable<PackageContent | undefined>): Promise<KnownBundleIndex> {
  return Promise.resolve({ index: bundleIndexOf(contents), tags: new Map() });
}

function lifecycleFrom(fixture: NonNullable<CatalogFixture["lifecycle"]>): PackageLifecycle {
  const versions = Object.entries(fixture).map(([name, { phases, on }]) => ({
    name,
    phases: phases.map((text) => {
      const [phase = "", startDate = "", endDate = ""] = text.split(" ");
      return { name: phase, startDate, endDate };
    }),
    ...(on ? { platformCompatibility: [{ name: "openshift", versions: on }] } : {}),
  }));
  return { versions };
}
