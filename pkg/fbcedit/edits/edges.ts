import { goQuote } from "../../golang/quote.ts";
import { rangeFaultOf } from "../../fbc/checks/propertyCheck.ts";
import { Schema } from "../../fbc/content.ts";
import { rangeTest } from "../../fbc/graph/bundleVersion.ts";
import { versionOf } from "../channelOrder.ts";
import { type EditedEntry, entriesOf, withEdges, withEntries } from "../entry.ts";
import { EditError, type EditedDocument, listed, type PackageEdit } from "../packageEdit.ts";

/** An update from one bundle to another. */
export interface Edge {
  readonly from: string;
  readonly to: string;
}

/** The channels that are edited: the named one, or every one that has the bundle. @throws EditError where it is in none. */
export function channelsWith(edit: PackageEdit, bundle: string, channel: string | undefined): readonly EditedDocument[] {
  const candidates = channel === undefined ? edit.all(Schema.channel) : [edit.require(Schema.channel, channel)];
  const found = candidates.filter(({ blob }) => entriesOf(blob).some(({ name }) => name === bundle));
  if (found.length > 0) return found;
  edit.requirePackage();
  const where = channel === undefined ? `no channel of package ${goQuote(edit.name)} has` : `channel ${goQuote(channel)} does not have`;
  const known = edit.all(Schema.bundle).map(({ name }) => name);
  throw new EditError(`${where} an entry ${goQuote(bundle)}; bundles are ${listed(known)}`);
}

/** Changes the entry of a bundle in a channel. */
export function changeEntry(edit: PackageEdit, channel: EditedDocument, bundle: string, change: (entry: EditedEntry) => EditedEntry): void {
  const entries = entriesOf(channel.blob).map((entry) => (entry.name === bundle ? change(entry) : entry));
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
      if (entry.skipRange !== undefined && rangeTest(entry.skipRange)(versionOf(from, edit.versions)))
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
