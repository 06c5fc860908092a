import { type BundleVersion, compareKnownVersions, versionInName } from "../fbc/graph/bundleVersion.ts";
import { channelHeads } from "../fbc/summary/channelHeads.ts";
import type { EditedEntry } from "./entry.ts";

/** Version of each bundle of a package by its name. */
export type Versions = ReadonlyMap<string, BundleVersion>;

/** What is known of a name's version: what its bundle states, else what the name ends with. */
export function versionOf(name: string, versions: Versions): BundleVersion | undefined {
  const stated = versions.get(name);
  return stated?.parsed ? stated : versionInName(name);
}

/** Negative where `a` is the older one; names whose version is not known are the oldest. */
export function compareByVersion(a: string, b: string, versions: Versions): number {
  return compareKnownVersions(versionOf(a, versions)?.parsed, versionOf(b, versions)?.parsed);
}

/** The newest of the entries that no other one replaces or skips; undefined for a channel that has none. */
export function headOf(entries: readonly EditedEntry[], versions: Versions): string | undefined {
  return channelHeads(entries).toSorted((a, b) => compareByVersion(b, a, versions))[0];
}
