import { isObject } from "../api/jsonObject.ts";
import type { JsonObject } from "../api/k8s.ts";
import { Schema } from "../fbc/content.ts";
import { foldKey, memberOf } from "../golang/members.ts";
import type { Meta } from "../fbc/types.ts";

/** Properties of a bundle that resolution reads; the rest, above all the ClusterServiceVersion's metadata, is most of a catalog. */
const KEPT_PROPERTIES: ReadonlySet<unknown> = new Set([
  "olm.package",
  "olm.package.required",
  "olm.gvk",
  "olm.gvk.required",
  "olm.constraint",
  "olm.maxOpenShiftVersion",
]);

const IDENTITY = ["schema", "package", "name"];
const ENTRY = ["name", "replaces", "skips", "skiprange"];
const DEPRECATION = ["reference", "message"];

/**
 * Returns `meta` with only what resolution reads: of packages, channels, bundles and deprecations the members that it knows, of bundles the
 * properties that it knows, of other schemas nothing. A member of the wrong type stays, so that the error says so.
 */
export function slim(meta: Meta): Meta {
  return { ...meta, blob: slimBlob(meta) };
}

function slimBlob({ schema, blob }: Meta): JsonObject {
  switch (schema) {
    case Schema.package:
      return members(blob, [...IDENTITY, "defaultchannel"]);
    case Schema.channel:
      return mapLists(members(blob, [...IDENTITY, "entries"]), "entries", eachWith(ENTRY));
    case Schema.deprecations:
      return mapLists(members(blob, [...IDENTITY, "entries"]), "entries", eachWith(DEPRECATION));
    case Schema.bundle: {
      const kept = members(blob, [...IDENTITY, "image", "properties"]);
      return mapLists(kept, "properties", (list) => list.filter((item) => !isObject(item) || KEPT_PROPERTIES.has(memberOf(item, "type"))));
    }
    default:
      return {};
  }
}

/** Returns the members whose names are among `names`, in any letter case. @param names in lower case. */
function members(object: Readonly<Record<string, unknown>>, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => names.includes(foldKey(name))));
}

/** Returns `object` with the list `name`, in any letter case, replaced. */
function mapLists(object: JsonObject, name: string, replace: (list: readonly unknown[]) => unknown[]): JsonObject {
  return Object.fromEntries(
    Object.entries(object).map(([key, value]) => [key, foldKey(key) === name && Array.isArray(value) ? replace(value) : value]),
  );
}

/** Returns a list with only the members `names` of its objects. */
function eachWith(names: readonly string[]): (list: readonly unknown[]) => unknown[] {
  return (list) => list.map((item) => (isObject(item) ? members(item, names) : item));
}
