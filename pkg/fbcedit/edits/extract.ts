import type { JsonObject } from "../../api/k8s.ts";
import { goQuote } from "../../golang/quote.ts";
import { Schema } from "../../fbc/content.ts";
import type { BundleVersion } from "../../fbc/graph/bundleVersion.ts";
import { objectMember, objectMembers, textMember } from "../../fbc/members.ts";
import { headOf } from "../channelOrder.ts";
import { type EditedEntry, entriesOf, withEntries } from "../entry.ts";
import { withMember } from "../member.ts";
import { EditError, listed, type PackageEdit } from "../packageEdit.ts";
import { keptEntries } from "./keepValid.ts";

/** What of a package is wanted. */
export interface Wanted {
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
export function extract(edit: PackageEdit, wanted: Wanted): void {
  edit.requirePackage();
  for (const channel of wanted.channels) edit.require(Schema.channel, channel);
  const { versions } = edit;
  for (const channel of edit.all(Schema.channel)) {
    const entries = entriesOf(channel.blob);
    const isKept = choice(entries, wanted, edit);
    const kept = wanted.channels.length > 0 && !wanted.channels.includes(channel.name) ? [] : keptEntries(entries, isKept, versions);
    if (kept.length === 0) edit.remove(channel);
    else edit.change(channel, withEntries(channel.blob, kept));
  }
  const left = edit.all(Schema.channel);
  if (left.length === 0) throw new EditError(`nothing of package ${goQuote(edit.name)} is left with that choice`);
  const bundles = new Set(left.flatMap(({ blob }) => entriesOf(blob).map(({ name }) => name)));
  for (const bundle of edit.all(Schema.bundle)) if (!bundles.has(bundle.name)) edit.remove(bundle);
  chooseDefault(edit, wanted.defaultChannel);
  dropDeprecations(edit, bundles);
}

function choice(
  entries: readonly EditedEntry[],
  { holds = (): boolean => true, headsOnly }: Wanted,
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
      `${goQuote(wanted)}, the default channel of package ${goQuote(edit.name)}, is not taken; choose one of ${listed(names)} with --default-channel`,
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
