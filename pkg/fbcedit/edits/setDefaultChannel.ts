import { Schema } from "../../fbc/content.ts";
import { withMember } from "../member.ts";
import type { PackageEdit } from "../packageEdit.ts";

/** Makes a channel of the package its default. @throws EditError where there is no such channel. */
export function setDefaultChannel(edit: PackageEdit, channel: string): void {
  edit.require(Schema.channel, channel);
  const found = edit.requirePackage();
  edit.change(found, withMember(found.blob, "defaultChannel", channel));
}
