import type { JsonObject } from "../../api/k8s.ts";
import { goQuote } from "../../golang/quote.ts";
import { Schema } from "../../fbc/content.ts";
import { textMember } from "../../fbc/members.ts";
import { isSame } from "../alignment.ts";
import { EditError, type PackageEdit } from "../packageEdit.ts";
import { addEntry, type Placement } from "./addEntry.ts";

/**
 * Adds a bundle to the package and to channels of it. A package that there is not is created, with the first channel as its default.
 * @param bundle an olm.bundle.
 * @throws EditError, also where the catalog has another bundle of that name: published bundles do not change.
 */
export function addBundle(edit: PackageEdit, bundle: JsonObject, placements: readonly Placement[]): void {
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
