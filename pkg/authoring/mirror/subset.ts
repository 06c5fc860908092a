import type { JsonObject } from "../../api/k8s.ts";
import { messageOf } from "../../errors/errors.ts";
import { packageContent, Schema } from "../../fbc/content.ts";
import type { FbcBundle, FbcChannel, Meta, PackageContent } from "../../fbc/types.ts";
import { isObject, memberOf, withMember } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";
import { parseBundleVersion } from "../../resolve/candidates.ts";
import { type Constraint, parseConstraint } from "../../version/masterminds.ts";

/** Which part of a catalog is wanted. */
export interface CatalogSelection {
  /** names; undefined means all packages */
  readonly packages: ReadonlySet<string> | undefined;
  /** Of a package: names of its channels, none meaning all. */
  channelsOf(packageName: string): readonly string[];
  /** Of a package: its versions that are wanted; undefined means all. */
  versionsOf(packageName: string): Constraint | undefined;
}

/** The texts of a selection. Each of the last two may stand for one package alone, as in `PACKAGE:CHANNEL`, which is wanted then. */
export interface SelectionTexts {
  readonly packages?: readonly string[];
  readonly channels?: readonly string[];
  readonly versions?: readonly string[];
}

/** A package is named by a DNS-1123 subdomain, and no range has a colon. */
const QUALIFIED = /^([a-z0-9](?:[-a-z0-9.]*[a-z0-9])?):(.+)$/s;
/** Key for what is about every package. */
const ALL = "";

/** @returns undefined where the whole catalog is wanted. @throws Error for a range that cannot be read. */
export function parseSelection({ packages = [], channels = [], versions = [] }: SelectionTexts): CatalogSelection | undefined {
  if (packages.length + channels.length + versions.length === 0) return undefined;
  const byChannel = Map.groupBy(channels.map(qualified), ({ of }) => of);
  const byVersion = Map.groupBy(versions.map(qualified), ({ of }) => of);
  const ranges = new Map<string, Constraint>();
  for (const [of, given] of byVersion) {
    if (given.length > 1)
      throw new Error(`there are several ranges of versions ${of === ALL ? "for all packages" : `of package ${goQuote(of)}`}: give one`);
    for (const { text } of given) ranges.set(of, rangeFrom(text));
  }
  const named = new Set([...packages, ...byChannel.keys(), ...byVersion.keys()].filter((name) => name !== ALL));
  return {
    packages: named.size === 0 ? undefined : named,
    channelsOf: (name) => [...(byChannel.get(name) ?? []), ...(byChannel.get(ALL) ?? [])].map(({ text }) => text),
    versionsOf: (name) => ranges.get(name) ?? ranges.get(ALL),
  };
}

function qualified(text: string): { of: string; text: string } {
  const [, of = ALL, rest = text] = QUALIFIED.exec(text) ?? [];
  return { of, text: rest };
}

function rangeFrom(text: string): Constraint {
  try {
    return parseConstraint(text);
  } catch (err) {
    throw new Error(`range of versions ${goQuote(text)} cannot be read: ${messageOf(err)}`, { cause: err });
  }
}

/** Part of a package, as a package of its own. */
export interface PackageSubset {
  readonly metas: readonly Meta[];
  /** What is there though it was not asked for, and why. */
  readonly notes: readonly string[];
}

/**
 * The part of a package that is wanted: its channels, of them the entries whose versions are, and the bundles of these. A version that others lead through
 * stays, so that each is still reached from the one before. What is no package, channel, bundle or deprecation stays too.
 * @param metas of this package, in their order
 * @throws Error where there is no such package or channel, or nothing is left.
 */
export function subsetPackage(metas: readonly Meta[], name: string, selection: CatalogSelection): PackageSubset {
  const content = packageContent(metas, name);
  if (!content.package) throw new Error(`the catalog has no package ${goQuote(name)}`);
  const channels = wantedChannels(content, name, selection.channelsOf(name));
  const inRange = namesInRange(content.bundles, selection.versionsOf(name));
  const kept = new Map(
    channels.map((channel) => [channel.name, keptEntries(channel, inRange)] as const).filter(([, names]) => names.size > 0),
  );
  if (kept.size === 0) throw new Error(`no version of package ${goQuote(name)} is in that range${channelsText(channels)}`);
  const bundles = new Set([...kept.values()].flatMap((names) => [...names]));
  const defaultChannel = defaultOf(content, [...kept.keys()], name);
  const between = [...bundles].filter((bundle) => !inRange.has(bundle)).sort();
  const notes = [
    ...(between.length > 0
      ? [`package ${goQuote(name)}: ${between.join(", ")} ${between.length === 1 ? "is" : "are"} kept, since upgrades lead through`]
      : []),
    ...(defaultChannel === content.package.defaultChannel
      ? []
      : [`package ${goQuote(name)}: its default channel is ${goQuote(defaultChannel)} now`]),
  ];
  return { metas: metas.flatMap((meta) => subsetMeta(meta, { kept, bundles, defaultChannel })), notes };
}

interface Kept {
  /** entries by channel */
  readonly kept: ReadonlyMap<string, ReadonlySet<string>>;
  readonly bundles: ReadonlySet<string>;
  readonly defaultChannel: string;
}

function subsetMeta(meta: Meta, { kept, bundles, defaultChannel }: Kept): Meta[] {
  switch (meta.schema) {
    case Schema.package:
      return [{ ...meta, blob: withMember(meta.blob, "defaultChannel", defaultChannel) }];
    case Schema.channel: {
      const names = kept.get(meta.name);
      return names ? [withEntries(meta, (entry) => names.has(memberOf(entry, "name") as string))] : [];
    }
    case Schema.bundle:
      return bundles.has(meta.name) ? [meta] : [];
    case Schema.deprecations: {
      const isAbout = (entry: JsonObject): boolean => {
        const reference = memberOf(entry, "reference");
        if (!isObject(reference)) return true;
        const [schema, name] = [memberOf(reference, "schema"), memberOf(reference, "name")];
        if (typeof name !== "string") return true;
        return schema === Schema.bundle ? bundles.has(name) : schema === Schema.channel ? kept.has(name) : true;
      };
      const left = withEntries(meta, isAbout);
      return (memberOf(left.blob, "entries") as unknown[]).length > 0 ? [left] : [];
    }
    default:
      return [meta];
  }
}

function withEntries(meta: Meta, isKept: (entry: JsonObject) => boolean): Meta {
  const entries = memberOf(meta.blob, "entries");
  const left = Array.isArray(entries) ? entries.filter((entry) => !isObject(entry) || isKept(entry)) : [];
  return { ...meta, blob: withMember(meta.blob, "entries", left) };
}

function wantedChannels({ channels }: PackageContent, name: string, wanted: readonly string[]): FbcChannel[] {
  const missing = wanted.filter((channel) => !channels.some((one) => one.name === channel));
  const there = channels.map((channel) => channel.name).join(", ");
  if (missing.length > 0) throw new Error(`package ${goQuote(name)} has no channel ${missing.map(goQuote).join(", ")}; there are ${there}`);
  return wanted.length === 0 ? [...channels] : channels.filter((channel) => wanted.includes(channel.name));
}

function namesInRange(bundles: readonly FbcBundle[], range: Constraint | undefined): Set<string> {
  const fits = (bundle: FbcBundle): boolean => range === undefined || range.contains(parseBundleVersion(bundle).version);
  return new Set(bundles.filter(fits).map(({ name }) => name));
}

/** Entries that are wanted, and those on the way from one of them to another. */
function keptEntries({ entries }: FbcChannel, inRange: ReadonlySet<string>): Set<string> {
  const replaced = new Map(entries.map(({ name, replaces }) => [name, replaces]));
  const kept = new Set(entries.map(({ name }) => name).filter((name) => inRange.has(name)));
  for (const { name: start } of entries) {
    if (!inRange.has(start)) continue;
    const way: string[] = [];
    const seen = new Set<string>();
    for (let next = replaced.get(start); next !== undefined && replaced.has(next) && !seen.has(next); next = replaced.get(next)) {
      seen.add(next);
      if (!kept.has(next)) way.push(next);
      else {
        for (const name of way) kept.add(name);
        break;
      }
    }
  }
  return kept;
}

/** The default channel as it was where it is left, or else the only one. */
function defaultOf(content: PackageContent, left: readonly string[], name: string): string {
  const before = content.package?.defaultChannel ?? "";
  if (left.includes(before)) return before;
  const [only, ...more] = left;
  if (only !== undefined && more.length === 0) return only;
  throw new Error(`package ${goQuote(name)} would lose its default channel ${goQuote(before)}: take that too, or one channel alone`);
}

function channelsText(channels: readonly FbcChannel[]): string {
  return channels.length === 0 ? "" : `, in channel ${channels.map(({ name }) => goQuote(name)).join(", ")}`;
}
