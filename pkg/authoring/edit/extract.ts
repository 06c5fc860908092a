import type { JsonObject } from "../../api/k8s.ts";
import { type BundleVersion, channelHeads } from "../../fbc/bundleOrder.ts";
import { packageOf, Schema } from "../../fbc/content.ts";
import { channelGraphFault } from "../../fbc/validate/channelCheck.ts";
import { objectMember, objectMembers, textMember, withMember } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";
import { CatalogText, type DocumentChange } from "./catalogText.ts";
import { compareByVersion, type EditedEntry, headOf, readChannelEntries, type Versions, withEdges, withEntries } from "./channelEntries.ts";
import { type CatalogFiles, EditError, formatNames, type PackageEdit } from "./packageEdit.ts";

/**
 * What is left of a channel when only some of its entries stay, as a valid graph: who replaced one that went replaces the next older one that
 * stays and skips those between; whatever then has no way on is skipped by the head. So every bundle that is installed still has its update.
 */
export function keptEntries(entries: readonly EditedEntry[], isKept: (name: string) => boolean, versions: Versions): EditedEntry[] {
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  const kept = entries.filter(({ name }) => isKept(name)).map((entry) => bridged(entry, byName, isKept));
  const head = headOf(kept, versions);
  if (head === undefined) return kept;
  const heads = channelHeads(kept).filter((name) => name !== head && compareByVersion(name, head, versions) <= 0);
  const single = skippedBy(kept, head, heads);
  const whole = skippedBy(single, head, strandedIn(single));
  const followed = followedBy(whole);
  const hadUpdate = followedBy(entries);
  const lost = entries.filter(({ name }) => !isKept(name) && hadUpdate.has(name) && !followed.has(name)).map(({ name }) => name);
  return skippedBy(
    whole,
    head,
    lost.filter((name) => compareByVersion(name, head, versions) < 0),
  );
}

function bridged(entry: EditedEntry, byName: ReadonlyMap<string, EditedEntry>, isKept: (name: string) => boolean): EditedEntry {
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

/** The names that entries replace or skip. */
function followedBy(entries: readonly EditedEntry[]): ReadonlySet<string> {
  return new Set(entries.flatMap(({ replaces = "", skips }) => [replaces, ...skips]));
}

function skippedBy(entries: readonly EditedEntry[], head: string, names: readonly string[]): EditedEntry[] {
  return entries.map((entry) =>
    entry.name === head && names.length > 0 ? withEdges(entry, { skips: [...entry.skips, ...names] }) : entry,
  );
}

function strandedIn(entries: readonly EditedEntry[]): string[] {
  const facts = entries.map(({ name, replaces = "", skips }) => ({ name, replaces, skips, skipRangeFault: undefined }));
  const graph = new Map(facts.map((entry) => [entry.name, entry]));
  if (channelGraphFault(graph)?.rule !== "stranded-bundles") return [];
  const skipped = new Set(facts.flatMap(({ skips }) => skips));
  const chain = new Set<string>();
  const [head] = channelHeads(entries);
  for (let next = head; next !== undefined && !chain.has(next); ) {
    chain.add(next);
    const replaces = graph.get(next)?.replaces ?? "";
    next = graph.has(replaces) && !skipped.has(replaces) ? replaces : undefined;
  }
  return facts.map(({ name }) => name).filter((name) => !chain.has(name) && !skipped.has(name));
}

/** What of a package is wanted. */
export interface ExtractRequest {
  /** None: all. */
  readonly channels: readonly string[];
  /** Default: all versions. */
  readonly holds?: ((version: BundleVersion | undefined) => boolean) | undefined;
  /** Of each channel only its newest version. */
  readonly headsOnly: boolean;
  /** Of what is taken, where the package's own is not. */
  readonly defaultChannel?: string | undefined;
}

/** Leaves of the package only what is wanted, such that the graph stays valid. @throws EditError where nothing is left, or no default channel. */
export function extract(edit: PackageEdit, wanted: ExtractRequest): void {
  edit.requirePackage();
  for (const channel of wanted.channels) edit.require(Schema.channel, channel);
  const { versions } = edit;
  for (const channel of edit.all(Schema.channel)) {
    const entries = readChannelEntries(channel.blob);
    const isKept = choice(entries, wanted, edit);
    const kept = wanted.channels.length > 0 && !wanted.channels.includes(channel.name) ? [] : keptEntries(entries, isKept, versions);
    if (kept.length === 0) edit.remove(channel);
    else edit.change(channel, withEntries(channel.blob, kept));
  }
  const left = edit.all(Schema.channel);
  if (left.length === 0) throw new EditError(`nothing of package ${goQuote(edit.name)} is left with that choice`);
  const bundles = new Set(left.flatMap(({ blob }) => readChannelEntries(blob).map(({ name }) => name)));
  for (const bundle of edit.all(Schema.bundle)) if (!bundles.has(bundle.name)) edit.remove(bundle);
  chooseDefault(edit, wanted.defaultChannel);
  dropDeprecations(edit, bundles);
}

function choice(
  entries: readonly EditedEntry[],
  { holds = (): boolean => true, headsOnly }: ExtractRequest,
  edit: PackageEdit,
): (name: string) => boolean {
  const { versions } = edit;
  const inRange = (name: string): boolean => holds(versions.get(name));
  if (!headsOnly) return inRange;
  const head = headOf(keptEntries(entries, inRange, versions), versions);
  return (name) => name === head;
}

function chooseDefault(edit: PackageEdit, asked: string | undefined): void {
  const found = edit.requirePackage();
  const names = edit.all(Schema.channel).map(({ name }) => name);
  const own = textMember(found.blob, "defaultChannel");
  const wanted = asked ?? own;
  const [only] = names;
  const chosen = names.includes(wanted) || asked !== undefined || names.length > 1 ? wanted : only;
  if (chosen === undefined || !names.includes(chosen))
    throw new EditError(
      `${goQuote(wanted)}, the default channel of package ${goQuote(edit.name)}, is not taken; choose one of ${formatNames(names)} with --default-channel`,
    );
  if (chosen === own) return;
  edit.change(found, withMember(found.blob, "defaultChannel", chosen));
  edit.notes.push(`the default channel of package ${goQuote(edit.name)} is ${goQuote(chosen)} now`);
}

function dropDeprecations(edit: PackageEdit, bundles: ReadonlySet<string>): void {
  const isLeft = (entry: JsonObject): boolean => {
    const reference = objectMember(entry, "reference") ?? {};
    const name = textMember(reference, "name");
    const schema = textMember(reference, "schema");
    if (schema === Schema.bundle) return bundles.has(name);
    return schema !== Schema.channel || edit.find(Schema.channel, name) !== undefined;
  };
  for (const holder of edit.all(Schema.deprecations)) {
    const entries = objectMembers(holder.blob, "entries");
    const left = entries.filter(isLeft);
    if (left.length === 0) edit.remove(holder);
    else if (left.length < entries.length) edit.change(holder, withMember(holder.blob, "entries", left));
  }
}

/** The files with only the objects of these packages, in their order; files that have none are left out. */
export function onlyPackages(files: CatalogFiles, packages: ReadonlySet<string>): Map<string, string> {
  const left = new Map<string, string>();
  for (const [path, text] of files) {
    const read = new CatalogText(text);
    const removed = new Map<number, DocumentChange>();
    for (const [i, meta] of read.documents.entries()) if (!packages.has(packageOf(meta))) removed.set(i, "removed");
    if (removed.size < read.documents.length) left.set(path, read.changed(removed).text);
  }
  return left;
}

/** The names of the packages in a catalog, in its order. */
export function listPackageNames(files: CatalogFiles): string[] {
  const names = [...files.values()].flatMap((text) => new CatalogText(text).documents.map(packageOf));
  return [...new Set(names)].filter((name) => name !== "");
}
