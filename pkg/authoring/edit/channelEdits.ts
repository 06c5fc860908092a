import type { JsonObject } from "../../api/k8s.ts";
import { Schema } from "../../fbc/content.ts";
import { findRangeFault } from "../../fbc/validate/propertyCheck.ts";
import { getTextMember, withMember } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";
import { compareByVersion, createEntry, type EntryEdges, findHead, hasEdges, readChannelEntries, withEntries } from "./channelEntries.ts";
import { EditError, type PackageEdit } from "./packageEdit.ts";
import { isSame } from "./patchText.ts";

/** The channel of a bundle and its upgrade edges there. */
interface Placement extends EntryEdges {
  readonly channel: string;
}

/**
 * Adds a bundle to a channel and creates the channel if it does not exist. Without edges, the bundle replaces the channel head if the head is older.
 * Does nothing if the channel already contains the bundle.
 * @throws EditError
 */
function addEntry(edit: PackageEdit, bundle: string, { channel, replaces, skips, skipRange }: Placement): void {
  if (channel === "") throw new EditError("channel name must not be empty");
  const fault = skipRange === undefined ? undefined : findRangeFault(skipRange);
  if (fault !== undefined) throw new EditError(`invalid skipRange ${goQuote(skipRange ?? "")}: ${fault}`);
  const given = {
    ...(replaces === undefined ? {} : { replaces }),
    ...(skips?.length ? { skips } : {}),
    ...(skipRange === undefined ? {} : { skipRange }),
  };
  const hasGiven = Object.keys(given).length > 0;
  const document = edit.find(Schema.channel, channel);
  if (!document) {
    const blob = withEntries({ schema: Schema.channel, package: edit.name, name: channel, entries: [] }, [createEntry(bundle, given)]);
    edit.add(blob, Schema.channel, channel);
    edit.notes.push(`created channel ${goQuote(channel)}`);
    return;
  }
  const entries = readChannelEntries(document.blob);
  const known = entries.find(({ name }) => name === bundle);
  if (known) {
    if (hasGiven && !hasEdges(known, given))
      throw new EditError(
        `channel ${goQuote(channel)} already contains ${goQuote(bundle)} with different edges: change them with olmv1 catalog edge`,
      );
    return;
  }
  const edges = hasGiven ? given : defaultEdges(edit, bundle, channel);
  edit.change(document, withEntries(document.blob, [...entries, createEntry(bundle, edges)]));
}

function defaultEdges(edit: PackageEdit, bundle: string, channel: string): EntryEdges {
  const document = edit.require(Schema.channel, channel);
  const head = findHead(readChannelEntries(document.blob), edit.versions);
  if (head === undefined || compareByVersion(head, bundle, edit.versions) >= 0) return {};
  edit.notes.push(`in channel ${goQuote(channel)}, the bundle replaces the head ${goQuote(head)}`);
  return { replaces: head };
}

/**
 * Adds a bundle to the package and its channels. Creates the package if it does not exist, with the first channel as its default.
 * @param bundle an olm.bundle.
 * @throws EditError, for example if the catalog already contains a different bundle with this name: published bundles must not change.
 */
export function addBundleToChannels(edit: PackageEdit, bundle: JsonObject, placements: readonly Placement[]): void {
  const name = getTextMember(bundle, "name");
  const [first] = placements;
  if (!first) throw new EditError("at least one channel is required");
  const known = edit.find(Schema.bundle, name);
  if (known && !isSame(known.blob, bundle))
    throw new EditError(
      `package ${goQuote(edit.name)} already contains a different bundle ${goQuote(name)} with image ${goQuote(getTextMember(known.blob, "image"))}: published bundles must not change, so release a new version`,
    );
  if (!edit.find(Schema.package, edit.name)) {
    edit.add({ schema: Schema.package, name: edit.name, defaultChannel: first.channel }, Schema.package, edit.name);
    edit.notes.push(`created package ${goQuote(edit.name)} with default channel ${goQuote(first.channel)}`);
  }
  if (!known) edit.add(bundle, Schema.bundle, name);
  for (const placement of placements) addEntry(edit, name, placement);
}

/** Adds an existing bundle of the package to another channel. @throws EditError */
export function promote(edit: PackageEdit, bundle: string, placement: Placement): void {
  edit.require(Schema.bundle, bundle);
  addEntry(edit, bundle, placement);
}

/** Sets the default channel of the package. @throws EditError if the channel does not exist. */
export function setDefaultChannel(edit: PackageEdit, channel: string): void {
  edit.require(Schema.channel, channel);
  const found = edit.requirePackage();
  edit.change(found, withMember(found.blob, "defaultChannel", channel));
}
