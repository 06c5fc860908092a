import type { JsonObject } from "../../api/k8s.ts";
import { Schema } from "../../fbc/content.ts";
import { rangeFaultOf } from "../../fbc/validate/propertyCheck.ts";
import { textMember, withMember } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";
import { compareByVersion, type EntryEdges, hasEdges, headOf, newEntry, readChannelEntries, withEntries } from "./channelEntries.ts";
import { EditError, type PackageEdit } from "./packageEdit.ts";
import { isSame } from "./patchText.ts";

/** Where a bundle goes and what it can follow there. */
interface Placement extends EntryEdges {
  readonly channel: string;
}

/**
 * Makes a bundle an entry of a channel, which is created where there is none. Without edges it replaces the head of the channel, where that is
 * older. Nothing happens where it is there already.
 * @throws EditError
 */
function addEntry(edit: PackageEdit, bundle: string, { channel, replaces, skips, skipRange }: Placement): void {
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
  const entries = readChannelEntries(document.blob);
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
  const head = headOf(readChannelEntries(document.blob), edit.versions);
  if (head === undefined || compareByVersion(head, bundle, edit.versions) >= 0) return {};
  edit.notes.push(`in channel ${goQuote(channel)} it replaces the head, ${goQuote(head)}`);
  return { replaces: head };
}

/**
 * Adds a bundle to the package and to channels of it. A package that there is not is created, with the first channel as its default.
 * @param bundle an olm.bundle.
 * @throws EditError, also where the catalog has another bundle of that name: published bundles do not change.
 */
export function addBundleToChannels(edit: PackageEdit, bundle: JsonObject, placements: readonly Placement[]): void {
  const name = textMember(bundle, "name");
  const [first] = placements;
  if (!first) throw new EditError("a bundle is in a channel");
  const known = edit.find(Schema.bundle, name);
  if (known && !isSame(known.blob, bundle))
    throw new EditError(
      `package ${goQuote(edit.name)} has another bundle ${goQuote(name)}, of image ${goQuote(textMember(known.blob, "image"))}; bundles do not change once they are published: release one of another version`,
    );
  if (!edit.find(Schema.package, edit.name)) {
    edit.add({ schema: Schema.package, name: edit.name, defaultChannel: first.channel }, Schema.package, edit.name);
    edit.notes.push(`package ${goQuote(edit.name)} is new, with default channel ${goQuote(first.channel)}`);
  }
  if (!known) edit.add(bundle, Schema.bundle, name);
  for (const placement of placements) addEntry(edit, name, placement);
}

/** Makes a bundle that the package has an entry of another channel too. @throws EditError */
export function promote(edit: PackageEdit, bundle: string, placement: Placement): void {
  edit.require(Schema.bundle, bundle);
  addEntry(edit, bundle, placement);
}

/** Makes a channel of the package its default. @throws EditError where there is no such channel. */
export function setDefaultChannel(edit: PackageEdit, channel: string): void {
  edit.require(Schema.channel, channel);
  const found = edit.requirePackage();
  edit.change(found, withMember(found.blob, "defaultChannel", channel));
}
