import type { JsonObject } from "../../api/k8s.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { Schema, selectPackage } from "../../fbc/content.ts";
import type { FbcBundle, FbcChannel, Meta, PackageContent } from "../../fbc/types.ts";
import { findMember, isObject, withMember } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";
import { parseBundleVersion } from "../../resolve/candidates.ts";
import { type Constraint, parseConstraint } from "../../version/masterminds.ts";

/** The selected part of a catalog. */
export interface MirrorSelection {
  /** Names of packages; undefined for all. */
  readonly packages: ReadonlySet<string> | undefined;
  /** Returns the selected channels of a package; empty for all. */
  channelsOf(packageName: string): readonly string[];
  /** Returns the selected versions of a package; undefined for all. */
  versionsOf(packageName: string): Constraint | undefined;
}

/** The unparsed selection. A channel or version with a package, such as `PACKAGE:CHANNEL`, also selects the package. */
export interface SelectionTexts {
  readonly packages?: readonly string[];
  readonly channels?: readonly string[];
  readonly versions?: readonly string[];
}

/** `PACKAGE:TEXT`. The package is a DNS-1123 subdomain. Version ranges do not contain colons. */
const QUALIFIED = /^([a-z0-9](?:[-a-z0-9.]*[a-z0-9])?):(.+)$/s;
/** Key for settings that apply to all packages. */
const ALL = "";

/** Parses a selection. @returns undefined for the whole catalog. @throws Error if a version range is invalid. */
export function parseSelection({ packages = [], channels = [], versions = [] }: SelectionTexts): MirrorSelection | undefined {
  if (packages.length + channels.length + versions.length === 0) return undefined;
  const byChannel = Map.groupBy(channels.map(parseQualified), ({ of }) => of);
  const byVersion = Map.groupBy(versions.map(parseQualified), ({ of }) => of);
  const ranges = new Map<string, Constraint>();
  for (const [of, given] of byVersion) {
    if (given.length > 1)
      throw new Error(`several version ranges ${of === ALL ? "for all packages" : `for package ${goQuote(of)}`}: use one`);
    for (const { text } of given) ranges.set(of, rangeFrom(text));
  }
  const named = new Set([...packages, ...byChannel.keys(), ...byVersion.keys()].filter((name) => name !== ALL));
  return {
    packages: named.size === 0 ? undefined : named,
    channelsOf: (name) => [...(byChannel.get(name) ?? []), ...(byChannel.get(ALL) ?? [])].map(({ text }) => text),
    versionsOf: (name) => ranges.get(name) ?? ranges.get(ALL),
  };
}

function parseQualified(text: string): { of: string; text: string } {
  const [, of = ALL, rest = text] = QUALIFIED.exec(text) ?? [];
  return { of, text: rest };
}

function rangeFrom(text: string): Constraint {
  try {
    return parseConstraint(text);
  } catch (err) {
    throw new Error(`invalid version range ${goQuote(text)}: ${getErrorMessage(err)}`, { cause: err });
  }
}

/** The selected part of a package, as a complete package. */
export interface PackageSubset {
  readonly metas: readonly Meta[];
  /** Notes about differences from the selection. */
  readonly notes: readonly string[];
}

/**
 * Extracts the selected channels, entries and bundles of a package. Also keeps versions between selected versions, so that upgrades between these
 * remain possible, and objects of other schemas.
 * @param metas of this package, in order
 * @throws Error if the package or a channel does not exist, or if no version is selected.
 */
export function subsetPackage(metas: readonly Meta[], name: string, selection: MirrorSelection): PackageSubset {
  const content = selectPackage(metas, name);
  if (!content.package) throw new Error(`the catalog does not contain package ${goQuote(name)}`);
  const channels = selectChannels(content, name, selection.channelsOf(name));
  const inRange = namesInRange(content.bundles, selection.versionsOf(name));
  const kept = new Map(
    channels.map((channel) => [channel.name, selectEntries(channel, inRange)] as const).filter(([, names]) => names.size > 0),
  );
  if (kept.size === 0) throw new Error(`no version of package ${goQuote(name)} matches the version range${formatChannels(channels)}`);
  const bundles = new Set([...kept.values()].flatMap((names) => [...names]));
  const defaultChannel = chooseDefaultChannel(content, [...kept.keys()], name);
  const between = [...bundles].filter((bundle) => !inRange.has(bundle)).sort();
  const notes = [
    ...(between.length > 0
      ? [
          `package ${goQuote(name)}: ${between.join(", ")} ${between.length === 1 ? "is" : "are"} kept, because upgrades need ${between.length === 1 ? "it" : "them"}`,
        ]
      : []),
    ...(defaultChannel === content.package.defaultChannel
      ? []
      : [`package ${goQuote(name)}: changed the default channel to ${goQuote(defaultChannel)}`]),
  ];
  return { metas: metas.flatMap((meta) => subsetMeta(meta, { kept, bundles, defaultChannel })), notes };
}

interface KeptContent {
  /** Kept entries by channel. */
  readonly kept: ReadonlyMap<string, ReadonlySet<string>>;
  readonly bundles: ReadonlySet<string>;
  readonly defaultChannel: string;
}

function subsetMeta(meta: Meta, { kept, bundles, defaultChannel }: KeptContent): Meta[] {
  switch (meta.schema) {
    case Schema.package:
      return [{ ...meta, blob: withMember(meta.blob, "defaultChannel", defaultChannel) }];
    case Schema.channel: {
      const names = kept.get(meta.name);
      return names ? [withEntries(meta, (entry) => names.has(findMember(entry, "name") as string))] : [];
    }
    case Schema.bundle:
      return bundles.has(meta.name) ? [meta] : [];
    case Schema.deprecations: {
      const isAbout = (entry: JsonObject): boolean => {
        const reference = findMember(entry, "reference");
        if (!isObject(reference)) return true;
        const [schema, name] = [findMember(reference, "schema"), findMember(reference, "name")];
        if (typeof name !== "string") return true;
        return schema === Schema.bundle ? bundles.has(name) : schema === Schema.channel ? kept.has(name) : true;
      };
      const left = withEntries(meta, isAbout);
      return (findMember(left.blob, "entries") as unknown[]).length > 0 ? [left] : [];
    }
    default:
      return [meta];
  }
}

function withEntries(meta: Meta, isKept: (entry: JsonObject) => boolean): Meta {
  const entries = findMember(meta.blob, "entries");
  const left = Array.isArray(entries) ? entries.filter((entry) => !isObject(entry) || isKept(entry)) : [];
  return { ...meta, blob: withMember(meta.blob, "entries", left) };
}

function selectChannels({ channels }: PackageContent, name: string, selected: readonly string[]): FbcChannel[] {
  const missing = selected.filter((channel) => !channels.some((one) => one.name === channel));
  const existing = channels.map((channel) => channel.name).join(", ");
  if (missing.length > 0)
    throw new Error(`package ${goQuote(name)} has no channel ${missing.map(goQuote).join(", ")}; available: ${existing}`);
  return selected.length === 0 ? [...channels] : channels.filter((channel) => selected.includes(channel.name));
}

function namesInRange(bundles: readonly FbcBundle[], range: Constraint | undefined): Set<string> {
  const fits = (bundle: FbcBundle): boolean => range === undefined || range.contains(parseBundleVersion(bundle).version);
  return new Set(bundles.filter(fits).map(({ name }) => name));
}

/** Returns the entries in range, and the entries between two of these in a replaces chain. */
function selectEntries({ entries }: FbcChannel, inRange: ReadonlySet<string>): Set<string> {
  const replaced = new Map(entries.map(({ name, replaces }) => [name, replaces]));
  const kept = new Set(entries.map(({ name }) => name).filter((name) => inRange.has(name)));
  for (const { name: start } of entries) {
    if (!inRange.has(start)) continue;
    const between: string[] = [];
    const seen = new Set<string>();
    for (let next = replaced.get(start); next !== undefined && replaced.has(next) && !seen.has(next); next = replaced.get(next)) {
      seen.add(next);
      if (!kept.has(next)) between.push(next);
      else {
        for (const name of between) kept.add(name);
        break;
      }
    }
  }
  return kept;
}

/** Returns the current default channel if it is kept, otherwise the only kept channel. @throws Error if several other channels are kept */
function chooseDefaultChannel(content: PackageContent, kept: readonly string[], name: string): string {
  const before = content.package?.defaultChannel ?? "";
  if (kept.includes(before)) return before;
  const [only, ...more] = kept;
  if (only !== undefined && more.length === 0) return only;
  throw new Error(
    `package ${goQuote(name)} would lose its default channel ${goQuote(before)}: also select this channel, or select only one channel`,
  );
}

function formatChannels(channels: readonly FbcChannel[]): string {
  return channels.length === 0 ? "" : `, in channel ${channels.map(({ name }) => goQuote(name)).join(", ")}`;
}
