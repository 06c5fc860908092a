import type { JsonObject } from "../../api/k8s.ts";
import { Schema } from "../../fbc/content.ts";
import type { Meta } from "../../fbc/types.ts";
import { numberToken } from "../../golang/json.ts";
import { foldKey, isObject, memberOf } from "../../golang/members.ts";

/** A member of a typed object. */
interface MemberForm {
  readonly key: string;
  /** What stands where there is none; absent: nothing does. */
  readonly zero?: unknown;
  /** Members of the object, or of each object in the list. */
  readonly members?: readonly MemberForm[];
}

const PROPERTIES: MemberForm = {
  key: "properties",
  members: [
    { key: "type", zero: "" },
    { key: "value", zero: null },
  ],
};
const ENTRIES: MemberForm = {
  key: "entries",
  zero: null,
  members: [{ key: "name", zero: "" }, { key: "replaces" }, { key: "skips" }, { key: "skipRange" }],
};
const REFERENCE: MemberForm = { key: "reference", zero: { schema: "" }, members: [{ key: "schema", zero: "" }, { key: "name" }] };
const SCHEMA: MemberForm = { key: "schema", zero: "" };

/** What opm prints of the objects that it knows, in its order. @see operator-registry v1.73.0 alpha/declcfg/declcfg.go */
const FORMS: ReadonlyMap<string, readonly MemberForm[]> = new Map([
  [
    Schema.package,
    [
      SCHEMA,
      { key: "name", zero: "" },
      { key: "defaultChannel", zero: "" },
      {
        key: "icon",
        members: [
          { key: "base64data", zero: "" },
          { key: "mediatype", zero: "" },
        ],
      },
      { key: "description" },
      PROPERTIES,
    ],
  ],
  [Schema.channel, [SCHEMA, { key: "name", zero: "" }, { key: "package", zero: "" }, ENTRIES, PROPERTIES]],
  [
    Schema.bundle,
    [
      SCHEMA,
      { key: "name" },
      { key: "package" },
      { key: "image", zero: "" },
      PROPERTIES,
      {
        key: "relatedImages",
        members: [
          { key: "name", zero: "" },
          { key: "image", zero: "" },
        ],
      },
    ],
  ],
  [
    Schema.deprecations,
    [SCHEMA, { key: "package", zero: "" }, { key: "entries", zero: null, members: [REFERENCE, { key: "message", zero: "" }] }],
  ],
]);

/**
 * An object of a catalog with its members in opm's order: what opm always prints is there, what it leaves out where it is empty is not. Members that opm
 * does not know, and drops, stay behind the others; objects of other schemas have all their members by name.
 */
export function orderMetaMembers(meta: Meta): Meta {
  const form = FORMS.get(meta.schema);
  const blob = byName(meta.blob) as JsonObject;
  return { ...meta, blob: form === undefined ? blob : formed(blob, form) };
}

/** All members by name, a number that kept its text as it is. */
function byName(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(byName);
  if (!isObject(value) || numberToken(value) !== undefined) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, byName(value[key])]),
  );
}

function formed(object: JsonObject, form: readonly MemberForm[]): JsonObject {
  const stated = form.flatMap(({ key, zero, members }): [string, unknown][] => {
    const value = memberOf(object, key) ?? zero;
    if (zero === undefined && isEmpty(value)) return [];
    return [[key, members === undefined ? value : within(value, members)]];
  });
  const known = new Set(form.map(({ key }) => foldKey(key)));
  const others = Object.entries(object).filter(([key]) => !known.has(foldKey(key)));
  return Object.fromEntries([...stated, ...others]);
}

function within(value: unknown, members: readonly MemberForm[]): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => within(item, members));
  return isObject(value) ? formed(value, members) : value;
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0);
}
