import { rangeTest } from "../../fbc/bundleOrder.ts";
import { Schema } from "../../fbc/content.ts";
import { rangeFaultOf } from "../../fbc/validate/propertyCheck.ts";
import { goQuote } from "../../golang/quote.ts";
import { compareText } from "../../text/compare.ts";
import {
  compareByVersion,
  type EditedEntry,
  findVersion,
  headOf,
  readChannelEntries,
  type Versions,
  withEdges,
  withEntries,
} from "./channelEntries.ts";
import { EditError, type EditedDocument, formatNames, type PackageEdit } from "./packageEdit.ts";

/** An update from one bundle to another. */
export interface Edge {
  readonly from: string;
  readonly to: string;
}

/** The channels that are edited: the named one, or every one that has the bundle. @throws EditError where it is in none. */
function channelsWith(edit: PackageEdit, bundle: string, channel: string | undefined): readonly EditedDocument[] {
  const candidates = channel === undefined ? edit.all(Schema.channel) : [edit.require(Schema.channel, channel)];
  const found = candidates.filter(({ blob }) => readChannelEntries(blob).some(({ name }) => name === bundle));
  if (found.length > 0) return found;
  edit.requirePackage();
  const where = channel === undefined ? `no channel of package ${goQuote(edit.name)} has` : `channel ${goQuote(channel)} does not have`;
  const known = edit.all(Schema.bundle).map(({ name }) => name);
  throw new EditError(`${where} an entry ${goQuote(bundle)}; bundles are ${formatNames(known)}`);
}

/** Changes the entry of a bundle in a channel. */
function changeEntry(edit: PackageEdit, channel: EditedDocument, bundle: string, change: (entry: EditedEntry) => EditedEntry): void {
  const entries = readChannelEntries(channel.blob).map((entry) => (entry.name === bundle ? change(entry) : entry));
  edit.change(channel, withEntries(channel.blob, entries));
}

/**
 * Lets `to` follow `from`: by `replaces` where the entry replaces nothing yet, else by `skips`, or by the one that is asked for. @throws EditError
 */
export function addEdge(edit: PackageEdit, { from, to }: Edge, type: "replaces" | "skips" | undefined, channel?: string): void {
  if (from === to) throw new EditError(`${goQuote(to)} cannot follow itself`);
  requireKnownName(edit, from);
  for (const document of channelsWith(edit, to, channel)) {
    changeEntry(edit, document, to, (entry) => {
      const follows = entry.replaces === from ? "replaces" : entry.skips.includes(from) ? "skips" : undefined;
      if (follows !== undefined && (type === undefined || type === follows)) return entry;
      const chosen = type ?? (entry.replaces === undefined ? "replaces" : "skips");
      if (chosen === "skips") return withEdges(entry, { skips: [...entry.skips, from] });
      if (entry.replaces !== undefined)
        throw new EditError(
          `in channel ${goQuote(document.name)} ${goQuote(to)} replaces ${goQuote(entry.replaces)} already; let it skip ${goQuote(from)}, or remove that edge first`,
        );
      return withEdges(entry, { replaces: from });
    });
  }
}

/** Sets the range of versions that `to` can follow. @throws EditError */
export function setSkipRange(edit: PackageEdit, to: string, skipRange: string | undefined, channel?: string): void {
  const fault = skipRange === undefined ? undefined : rangeFaultOf(skipRange);
  if (fault !== undefined) throw new EditError(`invalid skipRange ${goQuote(skipRange ?? "")}: ${fault}`);
  for (const document of channelsWith(edit, to, channel)) changeEntry(edit, document, to, (entry) => withEdges(entry, { skipRange }));
}

/** Takes the edge away, whether by `replaces` or `skips`; nothing happens where there is none. @throws EditError where a range holds it. */
export function removeEdge(edit: PackageEdit, { from, to }: Edge, channel?: string): void {
  for (const document of channelsWith(edit, to, channel)) {
    changeEntry(edit, document, to, (entry) => {
      if (entry.skipRange !== undefined && rangeTest(entry.skipRange)(findVersion(from, edit.versions)))
        throw new EditError(
          `in channel ${goQuote(document.name)} the skipRange ${goQuote(entry.skipRange)} of ${goQuote(to)} holds ${goQuote(from)}; set another range with --skip-range`,
        );
      const replaces = entry.replaces === from ? undefined : entry.replaces;
      return withEdges(entry, { replaces, skips: entry.skips.filter((skip) => skip !== from) });
    });
  }
}

/** A name that no bundle has may be of one that the catalog no longer holds; that is told. */
function requireKnownName(edit: PackageEdit, name: string): void {
  if (name === "") throw new EditError("a bundle has a name");
  if (!edit.find(Schema.bundle, name))
    edit.notes.push(`the catalog has no bundle ${goQuote(name)}: the edge is for clusters that have it installed`);
}

/**
 * Lets a newer bundle take the place of a bad one: it skips the bad one, and where it replaced that, it replaces what the bad one did. Clusters that
 * have the bad one leave it, and no other cluster comes to it.
 * @param by the newer one; by default the head of each channel that has the bad one.
 * @throws EditError
 */
export function skip(edit: PackageEdit, bad: string, by?: string, channel?: string): void {
  if (bad === by) throw new EditError(`${goQuote(bad)} cannot skip itself`);
  for (const document of channelsWith(edit, by ?? bad, channel)) {
    const entries = readChannelEntries(document.blob);
    const newer = by ?? headOf(entries, edit.versions);
    if (newer === undefined) throw new EditError(`channel ${goQuote(document.name)} has no head; say with --by what skips ${goQuote(bad)}`);
    if (newer === bad)
      throw new EditError(
        `${goQuote(bad)} is the head of channel ${goQuote(document.name)}; release another bundle that replaces it, or say with --by what skips it`,
      );
    const badEntry = entries.find(({ name }) => name === bad);
    changeEntry(edit, document, newer, (entry) => {
      const replaces = entry.replaces === bad ? badEntry?.replaces : entry.replaces;
      return withEdges(entry, { replaces, skips: [...new Set([...entry.skips, bad])] });
    });
  }
}

/**
 * Makes the graph of channels such that every release of a minor version updates to the newest release of it, that one to the newest of the next
 * minor version, and every Operator, also one that only the old graph names, has a single replacement.
 * @throws EditError for an entry whose version is not known.
 * @see S4-18
 */
export function zstream(edit: PackageEdit, channel?: string): void {
  edit.requirePackage();
  const documents = channel === undefined ? edit.all(Schema.channel) : [edit.require(Schema.channel, channel)];
  for (const document of documents) {
    const entries = readChannelEntries(document.blob);
    const lost = entries.filter(({ skipRange }) => skipRange !== undefined).map(({ name }) => name);
    if (lost.length > 0)
      edit.notes.push(
        `channel ${goQuote(document.name)}: the skipRange of ${lost.join(", ")} is gone: it gave versions a second replacement`,
      );
    edit.change(document, withEntries(document.blob, zstreamEntries(entries, edit.versions)));
  }
}

/** The entries, in their order, with the edges of a graph by minor versions. */
export function zstreamEntries(entries: readonly EditedEntry[], versions: Versions): EditedEntry[] {
  const names = entries.map(({ name }) => name);
  const absent = [...new Set(entries.flatMap(({ replaces = "", skips }) => [replaces, ...skips]))].filter(
    (name) => name !== "" && !names.includes(name),
  );
  const newest = newestByMinor(names, versions);
  const edges = new Map(newest.map((name, i) => [name, { replaces: newest[i - 1], skips: [] as string[], skipRange: undefined }]));
  const skippedBy = (name: string): string | undefined => {
    const minor = minorOf(name, versions);
    return newest.find((one) => minorOf(one, versions) === minor) ?? newest.find((one) => compareByVersion(one, name, versions) > 0);
  };
  for (const name of [...names, ...absent].toSorted((a, b) => compareByVersion(a, b, versions) || compareText(a, b))) {
    const by = skippedBy(name);
    if (by !== undefined && by !== name) edges.get(by)?.skips.push(name);
  }
  return entries.map((entry) => withEdges(entry, edges.get(entry.name) ?? { replaces: undefined, skips: [], skipRange: undefined }));
}

/** The newest release of each minor version, the oldest minor version first. */
function newestByMinor(names: readonly string[], versions: Versions): string[] {
  const newest = new Map<string, string>();
  for (const name of names) {
    const minor = minorOf(name, versions);
    if (minor === undefined) throw new EditError(`the version of ${goQuote(name)} is not known`);
    const other = newest.get(minor);
    if (other === undefined || compareByVersion(name, other, versions) > 0) newest.set(minor, name);
  }
  return [...newest.values()].sort((a, b) => compareByVersion(a, b, versions));
}

function minorOf(name: string, versions: Versions): string | undefined {
  const version = findVersion(name, versions)?.parsed?.version;
  return version && `${version.major}.${version.minor}`;
}
