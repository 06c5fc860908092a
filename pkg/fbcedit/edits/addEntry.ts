import { goQuote } from "../../golang/quote.ts";
import { rangeFaultOf } from "../../fbc/checks/propertyCheck.ts";
import { Schema } from "../../fbc/content.ts";
import { compareByVersion, headOf } from "../channelOrder.ts";
import { type EntryEdges, entriesOf, hasEdges, newEntry, withEntries } from "../entry.ts";
import { EditError, type PackageEdit } from "../packageEdit.ts";

/** Where a bundle goes and what it can follow there. */
export interface Placement extends EntryEdges {
  readonly channel: string;
}

/**
 * Makes a bundle an entry of a channel, which is created where there is none. Without edges it replaces the head of the channel, where that is
 * older. Nothing happens where it is there already.
 * @throws EditError
 */
export function addEntry(edit: PackageEdit, bundle: string, { channel, replaces, skips, skipRange }: Placement): void {
  if (channel === "") throw new EditError("a channel has a name");
  const fault = skipRange === undefined ? undefined : rangeFaultOf(skipRange);
  if (fault !== undefined) throw new EditError(`invalid skipRange ${goQuote(skipRange ?? "")}: ${fault}`);
  const given = {
    ...(replaces === undefined ? {} : { replaces }),
    ...(skips?.length ? { skips } : {}),
    ...(skipRange === undefined ? {} : { skipRange }),
  };
  const hasGiven = Object.keys(given).length > 0;
  const document = edit.find(Schema.channel, channel);
  if (!document) {
    const blob = withEntries({ schema: Schema.channel, package: edit.name, name: channel, entries: [] }, [newEntry(bundle, given)]);
    edit.add(blob, Schema.channel, channel);
    edit.notes.push(`channel ${goQuote(channel)} is new`);
    return;
  }
  const entries = entriesOf(document.blob);
  const known = entries.find(({ name }) => name === bundle);
  if (known) {
    if (hasGiven && !hasEdges(known, given))
      throw new EditError(`channel ${goQuote(channel)} has ${goQuote(bundle)} with other edges; change these with catalog edge`);
    return;
  }
  const edges = hasGiven ? given : defaultEdges(edit, bundle, channel);
  edit.change(document, withEntries(document.blob, [...entries, newEntry(bundle, edges)]));
}

function defaultEdges(edit: PackageEdit, bundle: string, channel: string): EntryEdges {
  const document = edit.require(Schema.channel, channel);
  const head = headOf(entriesOf(document.blob), edit.versions);
  if (head === undefined || compareByVersion(head, bundle, edit.versions) >= 0) return {};
  edit.notes.push(`in channel ${goQuote(channel)} it replaces the head, ${goQuote(head)}`);
  return { replaces: head };
}
