import type { JsonObject } from "../../api/k8s.ts";
import { Schema } from "../../fbc/content.ts";
import { getObjectMember, getObjectMembers, getTextMember, withMember } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";
import { EditError, type PackageEdit } from "./packageEdit.ts";

/** The target of a deprecation: the package, or one of its channels or bundles. */
export interface DeprecationTarget {
  readonly schema: typeof Schema.package | typeof Schema.channel | typeof Schema.bundle;
  /** Empty for the package. */
  readonly name: string;
}

/** Adds a deprecation, or changes the message of an existing one. @throws EditError */
export function deprecate(edit: PackageEdit, target: DeprecationTarget, message: string): void {
  edit.requirePackage();
  if (message.trim() === "") throw new EditError("deprecation message must not be empty: describe what to use instead");
  if (target.schema !== Schema.package) edit.require(target.schema, target.name);
  const [holder, ...more] = edit.all(Schema.deprecations);
  if (more.length > 0) throw new EditError(`package ${goQuote(edit.name)} has more than one olm.deprecations object: merge them first`);
  const { schema, name } = target;
  const entry = { reference: schema === Schema.package ? { schema } : { schema, name }, message };
  if (!holder) {
    edit.add({ schema: Schema.deprecations, package: edit.name, entries: [entry] }, Schema.deprecations, "");
    return;
  }
  const entries = getObjectMembers(holder.blob, "entries");
  const known = entries.some((one) => isAbout(one, target));
  const changed = known ? entries.map((one) => (isAbout(one, target) ? withMember(one, "message", message) : one)) : [...entries, entry];
  edit.change(holder, withMember(holder.blob, "entries", changed));
}

/** Removes a deprecation. Does nothing if it does not exist. Removes an olm.deprecations object whose last entry is removed. */
export function removeDeprecation(edit: PackageEdit, target: DeprecationTarget): void {
  edit.requirePackage();
  for (const holder of edit.all(Schema.deprecations)) {
    const entries = getObjectMembers(holder.blob, "entries");
    const left = entries.filter((one) => !isAbout(one, target));
    if (left.length === entries.length) continue;
    if (left.length === 0) edit.remove(holder);
    else edit.change(holder, withMember(holder.blob, "entries", left));
  }
}

function isAbout(entry: JsonObject, { schema, name }: DeprecationTarget): boolean {
  const reference = getObjectMember(entry, "reference") ?? {};
  return getTextMember(reference, "schema") === schema && (schema === Schema.package || getTextMember(reference, "name") === name);
}
