import type { JsonObject } from "../../api/k8s.ts";
import { type BundleVersion, findChannelHeads } from "../../fbc/bundleOrder.ts";
import { getPackageName, Schema } from "../../fbc/content.ts";
import { findGraphFault } from "../../fbc/validate/channelCheck.ts";
import { getObjectMember, getObjectMembers, getTextMember, withMember } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";
import { CatalogText, type DocumentChange } from "./catalogText.ts";
import {
  type BundleVersions,
  compareByVersion,
  type EditedEntry,
  findHead,
  readChannelEntries,
  withEdges,
  withEntries,
} from "./channelEntries.ts";
import { type CatalogFiles, EditError, formatNames, type PackageEdit } from "./packageEdit.ts";

/**
 * Removes entries from a channel and keeps its graph valid. An entry that replaced a removed entry replaces the next older kept entry and skips the
 * entries between. The head skips entries that would lose their upgrade path, so every installed bundle can still be upgraded.
 */
export function keepEntries(entries: readonly EditedEntry[], isKept: (name: string) => boolean, versions: BundleVersions): EditedEntry[] {
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  const kept = entries.filter(({ name }) => isKept(name)).map((entry) => bridgeRemoved(entry, byName, isKept));
  const head = findHead(kept, versions);
  if (head === undefined) return kept;
  const heads = findChannelHeads(kept).filter((name) => name !== head && compareByVersion(name, head, versions) <= 0);
  const single = addSkips(kept, head, heads);
  const whole = addSkips(single, head, findStranded(single));
  const followed = namesFollowedBy(whole);
  const hadUpdate = namesFollowedBy(entries);
  const lost = entries.filter(({ name }) => !isKept(name) && hadUpdate.has(name) && !followed.has(name)).map(({ name }) => name);
  return addSkips(
    whole,
    head,
    lost.filter((name) => compareByVersion(name, head, versions) < 0),
  );
}

function bridgeRemoved(entry: EditedEntry, byName: ReadonlyMap<string, EditedEntry>, isKept: (name: string) => boolean): EditedEntry {
  const passed: string[] = [];
  let replaces = entry.replaces;
  while (replaces !== undefined && !isKept(replaces) && !passed.includes(replaces)) {
    const gone = byName.get(replaces);
    if (!gone) break;
    passed.push(replaces, ...gone.skips.filter((name) => !passed.includes(name)));
    replaces = gone.replaces;
  }
  if (passed.length === 0) return entry;
  const skips = [...new Set([...entry.skips, ...passed])].filter((name) => name !== entry.name && name !== replaces);
  return withEdges(entry, { replaces: replaces !== undefined && passed.includes(replaces) ? undefined : replaces, skips });
}

/** Returns the names of bundles that entries replace or skip. */
function namesFollowedBy(entries: readonly EditedEntry[]): ReadonlySet<string> {
  return new Set(entries.flatMap(({ replaces = "", skips }) => [replaces, ...skips]));
}

function addSkips(entries: readonly EditedEntry[], head: string, names: readonly string[]): EditedEntry[] {
  return entries.map((entry) =>
    entry.name === head && names.length > 0 ? withEdges(entry, { skips: [...entry.skips, ...names] }) : entry,
  );
}

function findStranded(entries: readonly EditedEntry[]): string[] {
  const facts = entries.map(({ name, replaces = "", skips }) => ({ name, replaces, skips, skipRangeFault: undefined }));
  const graph = new Map(facts.map((entry) => [entry.name, entry]));
  if (findGraphFault(graph)?.rule !== "stranded-bundles") return [];
  const skipped = new Set(facts.flatMap(({ skips }) => skips));
  const chain = new Set<string>();
  const [head] = findChannelHeads(entries);
  for (let next = head; next !== undefined && !chain.has(next); ) {
    chain.add(next);
    const replaces = graph.get(next)?.replaces ?? "";
    next = graph.has(replaces) && !skipped.has(replaces) ? replaces : undefined;
  }
  return facts.map(({ name }) => name).filter((name) => !chain.has(name) && !skipped.has(name));
}

/** The parts of a package to extract. */
export interface ExtractRequest {
  /** Empty for all channels. */
  readonly channels: readonly string[];
  /** Selects versions. Default: all. */
  readonly includes?: ((version: BundleVersion | undefined) => boolean) | undefined;
  /** Whether to keep only the newest version of each channel. */
  readonly headsOnly: boolean;
  /** New default channel. Required if the current default channel is not extracted and several channels remain. */
  readonly defaultChannel?: string | undefined;
}

/**
 * Removes all parts of the package except the requested ones and keeps its graphs valid.
 * @throws EditError if no bundle or no default channel remains.
 */
export function extract(edit: PackageEdit, request: ExtractRequest): void {
  edit.requirePackage();
  for (const channel of request.channels) edit.require(Schema.channel, channel);
  const { versions } = edit;
  for (const channel of edit.all(Schema.channel)) {
    const entries = readChannelEntries(channel.blob);
    const isKept = selectEntries(entries, request, edit);
    const kept = request.channels.length > 0 && !request.channels.includes(channel.name) ? [] : keepEntries(entries, isKept, versions);
    if (kept.length === 0) edit.remove(channel);
    else edit.change(channel, withEntries(channel.blob, kept));
  }
  const left = edit.all(Schema.channel);
  if (left.length === 0) throw new EditError(`no bundle of package ${goQuote(edit.name)} matches the selection`);
  const bundles = new Set(left.flatMap(({ blob }) => readChannelEntries(blob).map(({ name }) => name)));
  for (const bundle of edit.all(Schema.bundle)) if (!bundles.has(bundle.name)) edit.remove(bundle);
  chooseDefault(edit, request.defaultChannel);
  dropDeprecations(edit, bundles);
}

function selectEntries(
  entries: readonly EditedEntry[],
  { includes = (): boolean => true, headsOnly }: ExtractRequest,
  edit: PackageEdit,
): (name: string) => boolean {
  const { versions } = edit;
  const inRange = (name: string): boolean => includes(versions.get(name));
  if (!headsOnly) return inRange;
  const head = findHead(keepEntries(entries, inRange, versions), versions);
  return (name) => name === head;
}

function chooseDefault(edit: PackageEdit, requested: string | undefined): void {
  const found = edit.requirePackage();
  const names = edit.all(Schema.channel).map(({ name }) => name);
  const own = getTextMember(found.blob, "defaultChannel");
  const preferred = requested ?? own;
  const [only] = names;
  const chosen = names.includes(preferred) || requested !== undefined || names.length > 1 ? preferred : only;
  if (chosen === undefined || !names.includes(chosen))
    throw new EditError(
      `the selection does not include ${goQuote(preferred)}, the default channel of package ${goQuote(edit.name)}: use --default-channel to set one of ${formatNames(names)}`,
    );
  if (chosen === own) return;
  edit.change(found, withMember(found.blob, "defaultChannel", chosen));
  edit.notes.push(`changed the default channel of package ${goQuote(edit.name)} to ${goQuote(chosen)}`);
}

function dropDeprecations(edit: PackageEdit, bundles: ReadonlySet<string>): void {
  const isLeft = (entry: JsonObject): boolean => {
    const reference = getObjectMember(entry, "reference") ?? {};
    const name = getTextMember(reference, "name");
    const schema = getTextMember(reference, "schema");
    if (schema === Schema.bundle) return bundles.has(name);
    return schema !== Schema.channel || edit.find(Schema.channel, name) !== undefined;
  };
  for (const holder of edit.all(Schema.deprecations)) {
    const entries = getObjectMembers(holder.blob, "entries");
    const left = entries.filter(isLeft);
    if (left.length === 0) edit.remove(holder);
    else if (left.length < entries.length) edit.change(holder, withMember(holder.blob, "entries", left));
  }
}

/** Returns the files with only the objects of these packages. Omits files without such objects. */
export function onlyPackages(files: CatalogFiles, packages: ReadonlySet<string>): Map<string, string> {
  const left = new Map<string, string>();
  for (const [path, text] of files) {
    const read = new CatalogText(text);
    const removed = new Map<number, DocumentChange>();
    for (const [i, meta] of read.documents.entries()) if (!packages.has(getPackageName(meta))) removed.set(i, "removed");
    if (removed.size < read.documents.length) left.set(path, read.applyChanges(removed).text);
  }
  return left;
}

/** Returns the names of the packages, in the order of the catalog. */
export function listPackageNames(files: CatalogFiles): string[] {
  const names = [...files.values()].flatMap((text) => new CatalogText(text).documents.map(getPackageName));
  return [...new Set(names)].filter((name) => name !== "");
}
