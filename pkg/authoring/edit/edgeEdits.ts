import { compileRangeTest } from "../../fbc/bundleOrder.ts";
import { Schema } from "../../fbc/content.ts";
import { findRangeFault } from "../../fbc/validate/propertyCheck.ts";
import { goQuote } from "../../golang/quote.ts";
import { compareText } from "../../text/compare.ts";
import {
  type BundleVersions,
  compareByVersion,
  type EditedEntry,
  findHead,
  findVersion,
  readChannelEntries,
  withEdges,
  withEntries,
} from "./channelEntries.ts";
import { EditError, type EditedDocument, formatNames, type PackageEdit } from "./packageEdit.ts";

/** An upgrade from one bundle to another. */
export interface Edge {
  readonly from: string;
  readonly to: string;
}

/** Returns the channel `channel`, or all channels that contain the bundle. @throws EditError if no channel contains the bundle. */
function channelsWith(edit: PackageEdit, bundle: string, channel: string | undefined): readonly EditedDocument[] {
  const candidates = channel === undefined ? edit.all(Schema.channel) : [edit.require(Schema.channel, channel)];
  const found = candidates.filter(({ blob }) => readChannelEntries(blob).some(({ name }) => name === bundle));
  if (found.length > 0) return found;
  edit.requirePackage();
  const where =
    channel === undefined ? `no channel of package ${goQuote(edit.name)} contains` : `channel ${goQuote(channel)} does not contain`;
  const known = edit.all(Schema.bundle).map(({ name }) => name);
  throw new EditError(`${where} bundle ${goQuote(bundle)}; bundles of the package: ${formatNames(known)}`);
}

/** Changes the entry of a bundle in one channel. */
function changeEntry(edit: PackageEdit, channel: EditedDocument, bundle: string, change: (entry: EditedEntry) => EditedEntry): void {
  const entries = readChannelEntries(channel.blob).map((entry) => (entry.name === bundle ? change(entry) : entry));
  edit.change(channel, withEntries(channel.blob, entries));
}

/**
 * Adds an upgrade edge. Default type: `replaces` if the entry does not replace a bundle yet, otherwise `skips`.
 * @throws EditError
 */
export function addEdge(edit: PackageEdit, { from, to }: Edge, type: "replaces" | "skips" | undefined, channel?: string): void {
  if (from === to) throw new EditError(`${goQuote(to)} cannot replace or skip itself`);
  requireKnownName(edit, from);
  for (const document of channelsWith(edit, to, channel)) {
    changeEntry(edit, document, to, (entry) => {
      const follows = entry.replaces === from ? "replaces" : entry.skips.includes(from) ? "skips" : undefined;
      if (follows !== undefined && (type === undefined || type === follows)) return entry;
      const chosen = type ?? (entry.replaces === undefined ? "replaces" : "skips");
      if (chosen === "skips") return withEdges(entry, { skips: [...entry.skips, from] });
      if (entry.replaces !== undefined)
        throw new EditError(
          `in channel ${goQuote(document.name)}, ${goQuote(to)} already replaces ${goQuote(entry.replaces)}: skip ${goQuote(from)} instead, or first remove the replaces edge`,
        );
      return withEdges(entry, { replaces: from });
    });
  }
}

/** Sets the skipRange of `to`. @throws EditError */
export function setSkipRange(edit: PackageEdit, to: string, skipRange: string | undefined, channel?: string): void {
  const fault = skipRange === undefined ? undefined : findRangeFault(skipRange);
  if (fault !== undefined) throw new EditError(`invalid skipRange ${goQuote(skipRange ?? "")}: ${fault}`);
  for (const document of channelsWith(edit, to, channel)) changeEntry(edit, document, to, (entry) => withEdges(entry, { skipRange }));
}

/** Removes a `replaces` or `skips` edge. Does nothing if the edge does not exist. @throws EditError if the skipRange of `to` contains `from`. */
export function removeEdge(edit: PackageEdit, { from, to }: Edge, channel?: string): void {
  for (const document of channelsWith(edit, to, channel)) {
    changeEntry(edit, document, to, (entry) => {
      if (entry.skipRange !== undefined && compileRangeTest(entry.skipRange)(findVersion(from, edit.versions)))
        throw new EditError(
          `in channel ${goQuote(document.name)}, skipRange ${goQuote(entry.skipRange)} of ${goQuote(to)} contains ${goQuote(from)}: set a different range with --skip-range`,
        );
      const replaces = entry.replaces === from ? undefined : entry.replaces;
      return withEdges(entry, { replaces, skips: entry.skips.filter((skip) => skip !== from) });
    });
  }
}

/** Adds a note if the catalog does not contain the bundle. Not an error, because an older version of the catalog may have contained it. */
function requireKnownName(edit: PackageEdit, name: string): void {
  if (name === "") throw new EditError("bundle name must not be empty");
  if (!edit.find(Schema.bundle, name))
    edit.notes.push(`the catalog does not contain bundle ${goQuote(name)}: the edge applies only to clusters with this bundle installed`);
}

/**
 * Withdraws a bad bundle: a newer bundle skips it. If the newer bundle replaced the bad bundle, it replaces the predecessor of the bad bundle
 * instead. Clusters with the bad bundle are upgraded, and other clusters do not install it.
 * @param by the newer bundle; by default the head of each channel that contains the bad bundle.
 * @throws EditError
 */
export function skip(edit: PackageEdit, bad: string, by?: string, channel?: string): void {
  if (bad === by) throw new EditError(`${goQuote(bad)} cannot skip itself`);
  for (const document of channelsWith(edit, by ?? bad, channel)) {
    const entries = readChannelEntries(document.blob);
    const newer = by ?? findHead(entries, edit.versions);
    if (newer === undefined)
      throw new EditError(`channel ${goQuote(document.name)} has no head: use --by to set the bundle that skips ${goQuote(bad)}`);
    if (newer === bad)
      throw new EditError(
        `${goQuote(bad)} is the head of channel ${goQuote(document.name)}: release a bundle that replaces it, or use --by to set the bundle that skips it`,
      );
    const badEntry = entries.find(({ name }) => name === bad);
    changeEntry(edit, document, newer, (entry) => {
      const replaces = entry.replaces === bad ? badEntry?.replaces : entry.replaces;
      return withEdges(entry, { replaces, skips: [...new Set([...entry.skips, bad])] });
    });
  }
}

/**
 * Rebuilds the graph of channels by minor versions. Every patch release upgrades to the newest patch release of its minor version, which upgrades to
 * the newest patch release of the next minor version. Every bundle has a single replacement, including bundles that only the edges of the old graph
 * mention.
 * @throws EditError if the version of an entry is unknown.
 * @see S4-18
 */
export function rebuildZstream(edit: PackageEdit, channel?: string): void {
  edit.requirePackage();
  const documents = channel === undefined ? edit.all(Schema.channel) : [edit.require(Schema.channel, channel)];
  for (const document of documents) {
    const entries = readChannelEntries(document.blob);
    const lost = entries.filter(({ skipRange }) => skipRange !== undefined).map(({ name }) => name);
    if (lost.length > 0)
      edit.notes.push(
        `channel ${goQuote(document.name)}: removed the skipRange of ${lost.join(", ")}, because each version can have only one replacement`,
      );
    edit.change(document, withEntries(document.blob, computeZstreamEntries(entries, edit.versions)));
  }
}

/** Returns the entries, in order, with the edges that `rebuildZstream` describes. */
export function computeZstreamEntries(entries: readonly EditedEntry[], versions: BundleVersions): EditedEntry[] {
  const names = entries.map(({ name }) => name);
  const absent = [...new Set(entries.flatMap(({ replaces = "", skips }) => [replaces, ...skips]))].filter(
    (name) => name !== "" && !names.includes(name),
  );
  const newest = newestByMinor(names, versions);
  const edges = new Map(newest.map((name, i) => [name, { replaces: newest[i - 1], skips: [] as string[], skipRange: undefined }]));
  const skippedBy = (name: string): string | undefined => {
    const minor = getMinor(name, versions);
    return newest.find((one) => getMinor(one, versions) === minor) ?? newest.find((one) => compareByVersion(one, name, versions) > 0);
  };
  for (const name of [...names, ...absent].toSorted((a, b) => compareByVersion(a, b, versions) || compareText(a, b))) {
    const by = skippedBy(name);
    if (by !== undefined && by !== name) edges.get(by)?.skips.push(name);
  }
  return entries.map((entry) => withEdges(entry, edges.get(entry.name) ?? { replaces: undefined, skips: [], skipRange: undefined }));
}

/** Returns the newest patch release of each minor version, in ascending order. */
function newestByMinor(names: readonly string[], versions: BundleVersions): string[] {
  const newest = new Map<string, string>();
  for (const name of names) {
    const minor = getMinor(name, versions);
    if (minor === undefined) throw new EditError(`the version of ${goQuote(name)} is unknown`);
    const other = newest.get(minor);
    if (other === undefined || compareByVersion(name, other, versions) > 0) newest.set(minor, name);
  }
  return [...newest.values()].sort((a, b) => compareByVersion(a, b, versions));
}

function getMinor(name: string, versions: BundleVersions): string | undefined {
  const version = findVersion(name, versions)?.parsed?.version;
  return version && `${version.major}.${version.minor}`;
}
