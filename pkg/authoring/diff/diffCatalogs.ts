import { isDeepStrictEqual } from "node:util";
import { Schema } from "../../fbc/content.ts";
import { goQuote } from "../../golang/quote.ts";
import { compareText } from "../../text/compare.ts";
import { formatCount } from "../../text/lists.ts";
import type { ComparedBundle, ComparedCatalog, ComparedPackage } from "./comparedCatalog.ts";

/** The kind of a difference. */
type DifferenceKind = "package" | "default-channel" | "channel" | "entry" | "edge" | "update-path" | "bundle" | "deprecation";

/** One difference between two catalogs. */
export interface CatalogDifference {
  readonly change: "added" | "removed" | "changed";
  readonly kind: DifferenceKind;
  readonly package: string;
  readonly channel?: string;
  readonly bundle?: string;
  /** Description of the difference, without a full stop. */
  readonly message: string;
  /** Whether the new catalog breaks clusters that use the old one. */
  readonly breaking: boolean;
}

/**
 * Compares two catalogs by package, channel and bundle. Breaking differences are removed packages, channels, entries and bundles, a changed default
 * channel, a changed image or version of a bundle, and bundles that can no longer be upgraded.
 * @see S3-39, S3-40
 */
export function diffCatalogs(before: ComparedCatalog, after: ComparedCatalog): CatalogDifference[] {
  const names = [...new Set([...before.packages.keys(), ...after.packages.keys()])].sort(compareText);
  return names.flatMap((name) => {
    const [old, now] = [before.packages.get(name), after.packages.get(name)];
    if (!old) return [difference(name, "added", "package", `package ${goQuote(name)} with ${formatCounts(now)}`)];
    if (!now) return [{ ...difference(name, "removed", "package", `package ${goQuote(name)} with ${formatCounts(old)}`), breaking: true }];
    return packageDifferences(old, now);
  });
}

function packageDifferences(old: ComparedPackage, now: ComparedPackage): CatalogDifference[] {
  return [...defaultChannel(old, now), ...channels(old, now), ...bundles(old, now), ...deprecations(old, now)];
}

function defaultChannel(old: ComparedPackage, now: ComparedPackage): CatalogDifference[] {
  if (old.defaultChannel === now.defaultChannel) return [];
  const message = `default channel is ${goQuote(now.defaultChannel)}, was ${goQuote(old.defaultChannel)}`;
  return [{ ...difference(old.name, "changed", "default-channel", message), breaking: old.defaultChannel !== "" }];
}

function channels(old: ComparedPackage, now: ComparedPackage): CatalogDifference[] {
  const names = [...new Set([...old.channels.keys(), ...now.channels.keys()])].sort(compareText);
  return names.flatMap((channel): CatalogDifference[] => {
    const [was, is] = [old.channels.get(channel), now.channels.get(channel)];
    if (!was) return [{ ...difference(old.name, "added", "channel", `channel ${goQuote(channel)}`), channel }];
    if (!is) return [{ ...difference(old.name, "removed", "channel", `channel ${goQuote(channel)}`), channel, breaking: true }];
    return [...entries(old.name, channel, was, is), ...edges(old.name, channel, was, is), ...lostPaths(old, now, channel)];
  });
}

type Entries = ReadonlyMap<string, ReadonlySet<string>>;

function entries(packageName: string, channel: string, was: Entries, is: Entries): CatalogDifference[] {
  const added = [...is.keys()].filter((name) => !was.has(name));
  const removed = [...was.keys()].filter((name) => !is.has(name));
  const of = (change: "added" | "removed", bundle: string): CatalogDifference => ({
    ...difference(packageName, change, "entry", `${goQuote(bundle)} in channel ${goQuote(channel)}`),
    channel,
    bundle,
    breaking: change === "removed",
  });
  return [...removed.sort().map((bundle) => of("removed", bundle)), ...added.sort().map((bundle) => of("added", bundle))];
}

/** Compares the edges of entries that are in both channels. The edges of a new entry are part of its own difference. */
function edges(packageName: string, channel: string, was: Entries, is: Entries): CatalogDifference[] {
  return [...is].flatMap(([bundle, now]) => {
    const before = was.get(bundle);
    if (!before) return [];
    const of = (change: "added" | "removed", edge: string): CatalogDifference => ({
      ...difference(packageName, change, "edge", `${goQuote(bundle)} ${edge} in channel ${goQuote(channel)}`),
      channel,
      bundle,
    });
    const removed = [...before].filter((edge) => !now.has(edge)).map((edge) => of("removed", edge));
    return [...removed, ...[...now].filter((edge) => !before.has(edge)).map((edge) => of("added", edge))];
  });
}

/** Returns the bundles that can be upgraded in the old channel, but not in the new one. */
function lostPaths(old: ComparedPackage, now: ComparedPackage, channel: string): CatalogDifference[] {
  const [before, after] = [old.updatesIn(channel, now), now.updatesIn(channel, old)];
  const isKept = (target: string): boolean => now.channels.get(channel)?.has(target) ?? false;
  return (
    [...before]
      .filter(([name, targets]) => targets.length > 0 && (after.get(name) ?? []).length === 0)
      // If all newer entries were removed, the bundle is the new head. The removed entries are already reported.
      .filter(([name, targets]) => targets.some(isKept) || !now.isHead(channel, name))
      .map(([bundle, targets]) => ({
        ...difference(
          old.name,
          "removed",
          "update-path",
          `upgrades of ${goQuote(bundle)} in channel ${goQuote(channel)}: possible to ${targets.map((target) => goQuote(target)).join(", ")} before, no longer possible`,
        ),
        channel,
        bundle,
        breaking: true,
      }))
  );
}

function bundles(old: ComparedPackage, now: ComparedPackage): CatalogDifference[] {
  const names = [...new Set([...old.bundles.keys(), ...now.bundles.keys()])].sort(compareText);
  return names.flatMap((bundle): CatalogDifference[] => {
    const [was, is] = [old.bundles.get(bundle), now.bundles.get(bundle)];
    if (!was) return [{ ...difference(old.name, "added", "bundle", `bundle ${goQuote(bundle)}`), bundle }];
    if (!is) return [{ ...difference(old.name, "removed", "bundle", `bundle ${goQuote(bundle)}`), bundle, breaking: true }];
    return bundleChanges(was, is).map(({ message, breaking }) => ({
      ...difference(old.name, "changed", "bundle", `bundle ${goQuote(bundle)}: ${message}`),
      bundle,
      breaking,
    }));
  });
}

function bundleChanges(was: ComparedBundle, is: ComparedBundle): { message: string; breaking: boolean }[] {
  const changes: { message: string; breaking: boolean }[] = [];
  const note = (what: string, from: string, to: string): void => {
    if (from !== to)
      changes.push({ message: `${what} is ${goQuote(to)}, was ${goQuote(from)}; published bundles must not change`, breaking: true });
  };
  note("image", was.image, is.image);
  note("version", was.version, is.version);
  const types = [...was.properties.keys(), ...is.properties.keys()].filter((type) => type !== "olm.package");
  const different = [...new Set(types)].filter((type) => !isDeepStrictEqual(was.properties.get(type), is.properties.get(type)));
  if (different.length > 0) changes.push({ message: `properties ${different.sort().join(", ")} differ`, breaking: false });
  if (!isDeepStrictEqual(was.relatedImages, is.relatedImages)) changes.push({ message: "related images differ", breaking: false });
  return changes;
}

function deprecations(old: ComparedPackage, now: ComparedPackage): CatalogDifference[] {
  const keys = [...new Set([...old.deprecations.keys(), ...now.deprecations.keys()])].sort(compareText);
  return keys.flatMap((key): CatalogDifference[] => {
    const [was, is] = [old.deprecations.get(key), now.deprecations.get(key)];
    if (was?.message === is?.message) return [];
    const { schema, name } = (is ?? was) as { schema: string; name: string };
    const about = schema === Schema.package ? "the package" : `${schema.replace("olm.", "")} ${goQuote(name)}`;
    const change = was === undefined ? "added" : is === undefined ? "removed" : "changed";
    const text = is === undefined ? "" : `: ${goQuote(is.message)}`;
    const place = schema === Schema.channel ? { channel: name } : schema === Schema.bundle ? { bundle: name } : {};
    return [{ ...difference(old.name, change, "deprecation", `deprecation of ${about}${text}`), ...place }];
  });
}

function difference(packageName: string, change: CatalogDifference["change"], kind: DifferenceKind, message: string): CatalogDifference {
  return { change, kind, package: packageName, message, breaking: false };
}

function formatCounts(compared: ComparedPackage | undefined): string {
  return `${formatCount(compared?.channels.size ?? 0, "channel")} and ${formatCount(compared?.bundles.size ?? 0, "bundle")}`;
}
