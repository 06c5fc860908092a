import type { JsonObject } from "../api/k8s.ts";
import { parseFirstDocument } from "../authoring/render/bundleObjects.ts";
import { type MigrationLevel, migrateMeta } from "../authoring/render/migrate.ts";
import { type BundleIdentity, type CatalogBundle, renderCatalogBundle } from "../authoring/render/renderBundle.ts";
import { readPackageDescription } from "../authoring/template/semverTemplate.ts";
import type { BundleFiles } from "../bundle/types.ts";
import { getErrorMessage } from "../errors/errors.ts";
import type { ChannelEntry, Meta } from "../fbc/types.ts";
import { findMember, getListMember, getObjectAt, getObjectMembers, getTextMember, isObject } from "../golang/members.ts";
import { goQuote } from "../golang/quote.ts";
import { compareText } from "../text/compare.ts";
import { compareVersions, tryParseVersion } from "../version/version.ts";

/** A channel in the package manifest format. Contains only the newest version: older versions follow from `replaces`. */
interface ManifestChannel {
  readonly name: string;
  readonly currentCSV: string;
}

/** The file `<name>.package.yaml` of the package manifest format. */
interface PackageManifest {
  readonly packageName: string;
  readonly channels: readonly ManifestChannel[];
  /** The default channel. If not set: the only channel, or empty if there are several. */
  readonly defaultChannel: string;
}

/**
 * Finds package manifests in the files of a folder, by path. A package manifest is an object with a `packageName` and no kind. Ignores invalid files.
 */
export function findPackageManifests(files: BundleFiles): Map<string, PackageManifest> {
  const found = new Map<string, PackageManifest>();
  for (const path of [...files.keys()].filter((one) => !one.includes("/")).sort()) {
    const manifest = manifestIn(files.get(path) ?? new Uint8Array());
    if (manifest) found.set(path, manifest);
  }
  return found;
}

/** Returns the package manifest of a folder. @throws Error unless the folder contains exactly one @see S0-006, S0-007 */
function packageManifestIn(files: BundleFiles): PackageManifest {
  const [first, second] = findPackageManifests(files);
  if (first === undefined) throw new Error("no package manifest found (a file such as etcd.package.yaml with packageName and channels)");
  if (second !== undefined) throw new Error(`found more than one package manifest: ${goQuote(first[0])} and ${goQuote(second[0])}`);
  return first[1];
}

function manifestIn(content: Uint8Array): PackageManifest | undefined {
  let document: unknown;
  try {
    ({ document } = parseFirstDocument(content));
  } catch {
    return undefined;
  }
  if (!isObject(document) || findMember(document, "kind") !== undefined) return undefined;
  const packageName = getTextMember(document, "packageName");
  if (packageName === "") return undefined;
  const channels = getObjectMembers(document, "channels").map((channel) => ({
    name: channelName(findMember(channel, "name")),
    currentCSV: getTextMember(channel, "currentCSV"),
  }));
  const stated = channelName(findMember(document, "defaultChannel"));
  return { packageName, channels, defaultChannel: stated || (channels.length === 1 ? (channels[0]?.name ?? "") : "") };
}

/** Accepts numbers, because channels are often named after a version, which YAML parses as a number without quotes. */
function channelName(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

/** One version of an operator: its folder, its catalog metadata, and its upgrade edges. */
interface PackageVersion {
  readonly folder: string;
  readonly rendered: CatalogBundle;
  readonly entry: ChannelEntry;
  readonly version: string;
  /** The files of the resulting bundle. */
  readonly files: BundleFiles;
}

const SKIP_RANGE = "olm.skipRange";

/**
 * Reads the versions in the folders of a package, by ClusterServiceVersion name. Reports folders without exactly one ClusterServiceVersion or without
 * a CRD that it owns, and duplicate names or versions.
 * @param folders files of each folder by name
 * @see S0-008, S4-13, S4-14
 */
function packageVersions(
  manifest: PackageManifest,
  folders: ReadonlyMap<string, BundleFiles>,
  imageOf: (identity: BundleIdentity) => string,
): { versions: Map<string, PackageVersion>; faults: string[] } {
  const versions = new Map<string, PackageVersion>();
  const faults: string[] = [];
  for (const [folder, files] of folders) {
    try {
      const found = versionIn(manifest, folder, files, imageOf);
      const same = [...versions.values()].find(({ entry, version }) => entry.name === found.entry.name || version === found.version);
      if (same === undefined) versions.set(found.entry.name, found);
      else
        faults.push(
          `folders ${goQuote(same.folder)} and ${goQuote(folder)} contain ClusterServiceVersions with the same name or version ${goQuote(found.version)}: both must be unique`,
        );
    } catch (err) {
      faults.push(`folder ${goQuote(folder)}: ${getErrorMessage(err)}`);
    }
  }
  return { versions, faults };
}

function versionIn(
  manifest: PackageManifest,
  folder: string,
  files: BundleFiles,
  imageOf: (identity: BundleIdentity) => string,
): PackageVersion {
  const csvs = [...files].filter(([, content]) => isCsv(content)).map(([name]) => name);
  if (csvs.length !== 1)
    throw new Error(
      `contains ${csvs.length} ClusterServiceVersions${csvs.length > 1 ? ` (${csvs.sort().join(", ")})` : ""} instead of one`,
    );
  const bundle = bundleFiles(manifest, files);
  const rendered = renderCatalogBundle(bundle, imageOf);
  const { csv, meta } = rendered;
  if (meta.name === "") throw new Error("ClusterServiceVersion has no name");
  const spec = getObjectAt(csv, "spec");
  return { folder, rendered, entry: readEntry(meta.name, csv), version: getTextMember(spec, "version"), files: bundle };
}

/** Returns the upgrade edges in a ClusterServiceVersion. */
function readEntry(name: string, csv: JsonObject): ChannelEntry {
  const spec = getObjectAt(csv, "spec");
  const replaces = getTextMember(spec, "replaces");
  const skips = getListMember(spec, "skips").filter((skip): skip is string => typeof skip === "string" && skip !== "");
  const skipRange = getTextMember(getObjectAt(getObjectAt(csv, "metadata"), "annotations"), SKIP_RANGE);
  return {
    name,
    ...(replaces === "" ? {} : { replaces }),
    ...(skips.length === 0 ? {} : { skips }),
    ...(skipRange === "" ? {} : { skipRange }),
  };
}

/** Converts the manifests to a registry+v1 bundle. */
function bundleFiles({ packageName, channels, defaultChannel }: PackageManifest, files: BundleFiles): BundleFiles {
  const key = "operators.operatorframework.io.bundle.";
  const annotations = {
    [`${key}mediatype.v1`]: "registry+v1",
    [`${key}manifests.v1`]: "manifests/",
    [`${key}metadata.v1`]: "metadata/",
    [`${key}package.v1`]: packageName,
    [`${key}channels.v1`]: channels.map(({ name }) => name).join(","),
    ...(defaultChannel === "" ? {} : { [`${key}channel.default.v1`]: defaultChannel }),
  };
  const lines = Object.entries(annotations).map(([name, value]) => `  ${name}: ${JSON.stringify(value)}\n`);
  const bundle = new Map([...files].map(([name, content]) => [`manifests/${name}`, content]));
  return bundle.set("metadata/annotations.yaml", new TextEncoder().encode(`annotations:\n${lines.join("")}`));
}

function isCsv(content: Uint8Array): boolean {
  try {
    const { document } = parseFirstDocument(content);
    return isObject(document) && document["kind"] === "ClusterServiceVersion";
  } catch {
    return false;
  }
}

/** A package in the package manifest format. */
export interface PackageFolder {
  /** The files directly in the package's folder, by name. */
  readonly files: BundleFiles;
  /** The files of each subfolder, by name. */
  readonly versions: ReadonlyMap<string, BundleFiles>;
}

/** Settings for the bundles of a migrated package. */
export interface PackageMigration {
  readonly imageOf: (identity: BundleIdentity) => string;
  readonly level: MigrationLevel;
}

/** A package in the format of file-based catalogs. */
export interface MigratedPackage {
  readonly name: string;
  /** The package, its channels and bundles; empty if there are faults. */
  readonly metas: readonly Meta[];
  /** The files of each version as a registry+v1 bundle, by original folder. */
  readonly bundles: ReadonlyMap<string, BundleFiles>;
  /** All problems that prevent a migration. */
  readonly faults: readonly string[];
  readonly warnings: readonly string[];
}

type PackageVersions = ReadonlyMap<string, PackageVersion>;

/**
 * Converts a package from the package manifest format to a file-based catalog. A channel contains its newest version and all versions that it
 * directly or indirectly replaces or skips, in ascending order. The edges are `replaces`, `skips` and `olm.skipRange`.
 * @throws Error unless the folder contains exactly one package manifest
 * @see S0-006, S0-007, S0-008, S4-13, S4-14
 */
export function migratePackage(folder: PackageFolder, { imageOf, level }: PackageMigration): MigratedPackage {
  const manifest = packageManifestIn(folder.files);
  const { versions, faults } = packageVersions(manifest, folder.versions, imageOf);
  const channels = manifest.channels.map((channel) => ({ channel, members: listChannelMembers(channel, versions) }));
  const used = new Set(channels.flatMap(({ members }) => members.map(({ entry }) => entry.name)));
  const all = [...findManifestErrors(manifest, versions), ...faults, ...findReplacedErrors(versions)];
  const left = [...versions.values()].filter(({ entry }) => !used.has(entry.name));
  const warnings = [
    ...left.map(({ folder: from, entry }) => `folder ${goQuote(from)}: omitted ${entry.name}, because no channel contains it`),
    ...[...versions.values()].flatMap(({ folder: from, rendered }) =>
      rendered.warnings.map((warning) => `folder ${goQuote(from)}: ${warning}`),
    ),
  ];
  const bundles = [...versions.values()].filter(({ entry }) => used.has(entry.name));
  const metas = [
    packageMeta(manifest, versions),
    ...channels.map(({ channel, members }) => channelMeta(manifest, channel, members)),
    ...bundles.map(({ rendered }) => migrateMeta(rendered.meta, level)),
  ];
  return {
    name: manifest.packageName,
    metas: all.length > 0 ? [] : metas,
    bundles: new Map(bundles.map(({ folder: from, files }) => [from, files])),
    faults: all,
    warnings,
  };
}

/** Returns the errors in the manifest and its references. */
function findManifestErrors({ packageName, channels, defaultChannel }: PackageManifest, versions: PackageVersions): string[] {
  const faults: string[] = [];
  if (channels.length === 0) faults.push(`package ${goQuote(packageName)} has no channel`);
  const names = new Set<string>();
  for (const { name, currentCSV } of channels) {
    const channel = `channel ${goQuote(name)}`;
    if (name === "") faults.push(`a channel of package ${goQuote(packageName)} has no name`);
    else if (names.has(name)) faults.push(`${channel} is defined more than once`);
    names.add(name);
    if (currentCSV === "") faults.push(`${channel} has no currentCSV`);
    else if (!versions.has(currentCSV)) faults.push(`${channel} refers to ${goQuote(currentCSV)}, which no folder of the package contains`);
  }
  if (defaultChannel === "" && channels.length > 1)
    faults.push(`package ${goQuote(packageName)} has several channels and no defaultChannel`);
  if (defaultChannel !== "" && !names.has(defaultChannel))
    faults.push(`defaultChannel ${goQuote(defaultChannel)} is not a channel of the package`);
  return faults;
}

/** Returns an error for each replaced version that does not exist. Stricter than file-based catalogs, which allow this. */
function findReplacedErrors(versions: PackageVersions): string[] {
  return [...versions.values()].flatMap(({ entry: { name, replaces } }) =>
    replaces === undefined || versions.has(replaces)
      ? []
      : [`${goQuote(name)} replaces ${goQuote(replaces)}, which no folder of the package contains`],
  );
}

/** Returns the newest version of a channel and all its predecessors, in ascending order. */
function listChannelMembers({ currentCSV }: ManifestChannel, versions: PackageVersions): PackageVersion[] {
  const found = new Map<string, PackageVersion>();
  const open = [currentCSV];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const version = versions.get(name);
    if (version === undefined || found.has(name)) continue;
    found.set(name, version);
    const { replaces, skips = [] } = version.entry;
    open.push(...skips, ...(replaces === undefined ? [] : [replaces]));
  }
  return [...found.values()].sort((a, b) => compareTexts(a.version, b.version) || compareText(a.entry.name, b.entry.name));
}

function compareTexts(a: string, b: string): number {
  const [x, y] = [tryParseVersion(a), tryParseVersion(b)];
  return x === undefined || y === undefined ? compareText(a, b) : compareVersions(x, y);
}

function packageMeta({ packageName, channels, defaultChannel }: PackageManifest, versions: PackageVersions): Meta {
  const newest = versions.get(channels.find(({ name }) => name === defaultChannel)?.currentCSV ?? "");
  const described = newest ? readPackageDescription(newest.rendered.csv) : {};
  return {
    schema: "olm.package",
    package: "",
    name: packageName,
    blob: { schema: "olm.package", name: packageName, defaultChannel, ...described },
  };
}

function channelMeta({ packageName }: PackageManifest, { name }: ManifestChannel, members: readonly PackageVersion[]): Meta {
  const entries: ChannelEntry[] = members.map(({ entry }) => entry);
  return { schema: "olm.channel", package: packageName, name, blob: { schema: "olm.channel", name, package: packageName, entries } };
}
