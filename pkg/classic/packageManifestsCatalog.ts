import { compareText } from "../text/compare.ts";
import type { BundleFiles } from "../bundle/types.ts";
import { goQuote } from "../golang/quote.ts";
import type { ChannelEntry, Meta } from "../fbc/types.ts";
import { type MigrationLevel, migrated } from "../authoring/render/migrate.ts";
import type { BundleIdentity } from "../authoring/render/renderBundle.ts";
import { describedBy } from "../authoring/template/semverTemplate.ts";
import { compareVersions, parseVersion, type Version } from "../version/version.ts";
import { type ManifestChannel, type PackageManifest, packageManifestIn } from "./packageManifests.ts";
import { type PackageVersion, packageVersions } from "./packageManifestsVersions.ts";

/** A package in the package manifest format. */
export interface PackageFolder {
  /** Those of the package's folder itself, by name. */
  readonly files: BundleFiles;
  /** Those of each folder in it, by name. */
  readonly versions: ReadonlyMap<string, BundleFiles>;
}

/** What the bundles of a migrated package get. */
export interface PackageMigration {
  readonly imageOf: (identity: BundleIdentity) => string;
  readonly level: MigrationLevel;
}

/** A package as a file-based catalog has it. */
export interface MigratedPackage {
  readonly name: string;
  /** The package, its channels and bundles; none where there are faults. */
  readonly metas: readonly Meta[];
  /** The files of each version as a registry+v1 bundle, by the folder that it came from. */
  readonly bundles: ReadonlyMap<string, BundleFiles>;
  /** What keeps it from being migrated, all at once. */
  readonly faults: readonly string[];
  readonly warnings: readonly string[];
}

type Versions = ReadonlyMap<string, PackageVersion>;

/**
 * Turns a package of the package manifest format into objects of a file-based catalog. A channel has its newest version and all that follow by `replaces`
 * and `skips`, with these and `olm.skipRange` as edges, by rising version.
 * @throws Error where the folder has no package manifest, or several.
 * @see requirements.md S0-006, S0-007, S0-008, S4-13, S4-14
 */
export function migratedPackage(folder: PackageFolder, { imageOf, level }: PackageMigration): MigratedPackage {
  const manifest = packageManifestIn(folder.files);
  const { versions, faults } = packageVersions(manifest, folder.versions, imageOf);
  const channels = manifest.channels.map((channel) => ({ channel, members: membersOf(channel, versions) }));
  const used = new Set(channels.flatMap(({ members }) => members.map(({ entry }) => entry.name)));
  const all = [...manifestFaults(manifest, versions), ...faults, ...replacedFaults(versions)];
  const left = [...versions.values()].filter(({ entry }) => !used.has(entry.name));
  const warnings = [
    ...left.map(({ folder: from, entry }) => `folder ${goQuote(from)}: ${entry.name} is in no channel, so it is left out`),
    ...[...versions.values()].flatMap(({ folder: from, rendered }) =>
      rendered.warnings.map((warning) => `folder ${goQuote(from)}: ${warning}`),
    ),
  ];
  const bundles = [...versions.values()].filter(({ entry }) => used.has(entry.name));
  const metas = [
    packageMeta(manifest, versions),
    ...channels.map(({ channel, members }) => channelMeta(manifest, channel, members)),
    ...bundles.map(({ rendered }) => migrated(rendered.meta, level)),
  ];
  return {
    name: manifest.packageName,
    metas: all.length > 0 ? [] : metas,
    bundles: new Map(bundles.map(({ folder: from, files }) => [from, files])),
    faults: all,
    warnings,
  };
}

/** What is wrong with the manifest itself, and with what it points at. */
function manifestFaults({ packageName, channels, defaultChannel }: PackageManifest, versions: Versions): string[] {
  const faults: string[] = [];
  if (channels.length === 0) faults.push(`package ${goQuote(packageName)} has no channel`);
  const names = new Set<string>();
  for (const { name, currentCSV } of channels) {
    const channel = `channel ${goQuote(name)}`;
    if (name === "") faults.push(`a channel of package ${goQuote(packageName)} has no name`);
    else if (names.has(name)) faults.push(`${channel} is there twice`);
    names.add(name);
    if (currentCSV === "") faults.push(`${channel} has no currentCSV`);
    else if (!versions.has(currentCSV)) faults.push(`${channel} points at ${goQuote(currentCSV)}, which no folder of the package holds`);
  }
  if (defaultChannel === "" && channels.length > 1)
    faults.push(`package ${goQuote(packageName)} has several channels and no defaultChannel`);
  if (defaultChannel !== "" && !names.has(defaultChannel))
    faults.push(`defaultChannel ${goQuote(defaultChannel)} is no channel of the package`);
  return faults;
}

/** Stricter than file-based catalogs, where a version that is replaced need not be there. */
function replacedFaults(versions: Versions): string[] {
  return [...versions.values()].flatMap(({ entry: { name, replaces } }) =>
    replaces === undefined || versions.has(replaces)
      ? []
      : [`${goQuote(name)} replaces ${goQuote(replaces)}, which no folder of the package holds`],
  );
}

/** The newest version of a channel and all that it leads back to, by rising version. */
function membersOf({ currentCSV }: ManifestChannel, versions: Versions): PackageVersion[] {
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
  const [x, y] = [versionFrom(a), versionFrom(b)];
  return x === undefined || y === undefined ? compareText(a, b) : compareVersions(x, y);
}

function versionFrom(text: string): Version | undefined {
  try {
    return parseVersion(text);
  } catch {
    return undefined;
  }
}

function packageMeta({ packageName, channels, defaultChannel }: PackageManifest, versions: Versions): Meta {
  const newest = versions.get(channels.find(({ name }) => name === defaultChannel)?.currentCSV ?? "");
  const described = newest ? describedBy(newest.rendered.csv) : {};
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
