import type { JsonObject } from "../api/k8s.ts";
import { givenText, listMember, objectMembers, textMember } from "../fbc/members.ts";
import { withMember } from "./member.ts";

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
export function entriesOf(channel: Readonly<JsonObject>): EditedEntry[] {
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
