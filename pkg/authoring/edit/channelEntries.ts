import type { JsonObject } from "../../api/k8s.ts";
import { type BundleVersion, compareKnownVersions, findChannelHeads, parseVersionInName } from "../../fbc/bundleOrder.ts";
import { getListMember, getObjectMembers, getOptionalText, getTextMember, withMember } from "../../golang/members.ts";

/** The upgrade edges of a channel entry. */
export interface EntryEdges {
  readonly replaces?: string | undefined;
  readonly skips?: readonly string[];
  readonly skipRange?: string | undefined;
}

/** A channel entry during an edit. Keeps fields that OLM does not define. */
export interface EditedEntry extends EntryEdges {
  readonly name: string;
  readonly skips: readonly string[];
  readonly source: JsonObject;
}

/** Returns the entries of a channel, in order. Ignores fields of the wrong type. */
export function readChannelEntries(channel: Readonly<JsonObject>): EditedEntry[] {
  return getObjectMembers(channel, "entries").map((source) => ({
    name: getTextMember(source, "name"),
    replaces: getOptionalText(source, "replaces"),
    skips: getListMember(source, "skips").filter((skip) => typeof skip === "string"),
    skipRange: getOptionalText(source, "skipRange"),
    source,
  }));
}

/** Returns a copy of the channel with these entries. */
export function withEntries(channel: Readonly<JsonObject>, entries: readonly EditedEntry[]): JsonObject {
  return withMember(channel, "entries", entries.map(formatEntry));
}

/** Creates an entry. */
export function createEntry(name: string, edges: EntryEdges): EditedEntry {
  return { name, skips: [], ...edges, source: { name } };
}

/** Returns a copy of the entry with changed edges. Keeps edges that are not in `edges`. */
export function withEdges(entry: EditedEntry, edges: EntryEdges): EditedEntry {
  return { ...entry, ...edges };
}

/** Reports whether an entry has exactly these edges. */
export function hasEdges(entry: EditedEntry, { replaces, skips = [], skipRange }: EntryEdges): boolean {
  return entry.replaces === replaces && entry.skipRange === skipRange && entry.skips.join("\n") === skips.join("\n");
}

function formatEntry({ source, name, replaces, skips, skipRange }: EditedEntry): JsonObject {
  let entry = withMember(source, "name", name);
  if (replaces !== getOptionalText(source, "replaces")) entry = withMember(entry, "replaces", replaces);
  if (skips.join("\n") !== getListMember(source, "skips").join("\n"))
    entry = withMember(entry, "skips", skips.length > 0 ? [...skips] : undefined);
  if (skipRange !== getOptionalText(source, "skipRange")) entry = withMember(entry, "skipRange", skipRange);
  return entry;
}

/** Versions of the bundles of a package by name. */
export type BundleVersions = ReadonlyMap<string, BundleVersion>;

/** Finds the version of a bundle: the version in `versions`, or else the version at the end of its name. */
export function findVersion(name: string, versions: BundleVersions): BundleVersion | undefined {
  const stated = versions.get(name);
  return stated?.parsed ? stated : parseVersionInName(name);
}

/** Compares two bundles by version. Bundles of unknown version are the oldest. */
export function compareByVersion(a: string, b: string, versions: BundleVersions): number {
  return compareKnownVersions(findVersion(a, versions)?.parsed, findVersion(b, versions)?.parsed);
}

/** Returns the newest entry that no other entry replaces or skips; undefined if there is no such entry. */
export function findHead(entries: readonly EditedEntry[], versions: BundleVersions): string | undefined {
  return findChannelHeads(entries).toSorted((a, b) => compareByVersion(b, a, versions))[0];
}
