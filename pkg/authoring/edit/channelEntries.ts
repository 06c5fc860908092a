import type { JsonObject } from "../../api/k8s.ts";
import { type BundleVersion, channelHeads, compareKnownVersions, versionInName } from "../../fbc/bundleOrder.ts";
import { givenText, listMember, objectMembers, textMember, withMember } from "../../golang/members.ts";

/** The edges of an entry of a channel: what it can follow. */
export interface EntryEdges {
  readonly replaces?: string | undefined;
  readonly skips?: readonly string[];
  readonly skipRange?: string | undefined;
}

/** An entry of a channel as it is edited; members that mean nothing to OLM stay. */
export interface EditedEntry extends EntryEdges {
  readonly name: string;
  readonly skips: readonly string[];
  readonly source: JsonObject;
}

/** The entries of a channel, in its order. What has the wrong kind counts as absent. */
export function readChannelEntries(channel: Readonly<JsonObject>): EditedEntry[] {
  return objectMembers(channel, "entries").map((source) => ({
    name: textMember(source, "name"),
    replaces: givenText(source, "replaces"),
    skips: listMember(source, "skips").filter((skip) => typeof skip === "string"),
    skipRange: givenText(source, "skipRange"),
    source,
  }));
}

/** The channel with these entries. */
export function withEntries(channel: Readonly<JsonObject>, entries: readonly EditedEntry[]): JsonObject {
  return withMember(channel, "entries", entries.map(written));
}

/** A new entry. */
export function newEntry(name: string, edges: EntryEdges): EditedEntry {
  return { name, skips: [], ...edges, source: { name } };
}

/** The entry with other edges; a member that is not given stays. */
export function withEdges(entry: EditedEntry, edges: EntryEdges): EditedEntry {
  return { ...entry, ...edges };
}

/** Whether two entries say the same. */
export function hasEdges(entry: EditedEntry, { replaces, skips = [], skipRange }: EntryEdges): boolean {
  return entry.replaces === replaces && entry.skipRange === skipRange && entry.skips.join("\n") === skips.join("\n");
}

function written({ source, name, replaces, skips, skipRange }: EditedEntry): JsonObject {
  let entry = withMember(source, "name", name);
  if (replaces !== givenText(source, "replaces")) entry = withMember(entry, "replaces", replaces);
  if (skips.join("\n") !== listMember(source, "skips").join("\n"))
    entry = withMember(entry, "skips", skips.length > 0 ? [...skips] : undefined);
  if (skipRange !== givenText(source, "skipRange")) entry = withMember(entry, "skipRange", skipRange);
  return entry;
}

/** Version of each bundle of a package by its name. */
export type Versions = ReadonlyMap<string, BundleVersion>;

/** What is known of a name's version: what its bundle states, else what the name ends with. */
export function findVersion(name: string, versions: Versions): BundleVersion | undefined {
  const stated = versions.get(name);
  return stated?.parsed ? stated : versionInName(name);
}

/** Negative where `a` is the older one; names whose version is not known are the oldest. */
export function compareByVersion(a: string, b: string, versions: Versions): number {
  return compareKnownVersions(findVersion(a, versions)?.parsed, findVersion(b, versions)?.parsed);
}

/** The newest of the entries that no other one replaces or skips; undefined for a channel that has none. */
export function headOf(entries: readonly EditedEntry[], versions: Versions): string | undefined {
  return channelHeads(entries).toSorted((a, b) => compareByVersion(b, a, versions))[0];
}
