import type { JsonObject } from "../../api/k8s.ts";
import { Schema } from "../../fbc/content.ts";
import type { Meta } from "../../fbc/types.ts";
import { getNumberToken } from "../../golang/json.ts";
import { findMember, foldKey, isObject } from "../../golang/members.ts";

/** A field of a typed object. */
interface FieldForm {
  readonly key: string;
  /** The value of a missing field; absent if the field is omitted. */
  readonly zero?: unknown;
  /** Fields of the object, or of each object in the list. */
  readonly members?: readonly FieldForm[];
}

const PROPERTIES: FieldForm = {
  key: "properties",
  members: [
    { key: "type", zero: "" },
    { key: "value", zero: null },
  ],
};
const ENTRIES: FieldForm = {
  key: "entries",
  zero: null,
  members: [{ key: "name", zero: "" }, { key: "replaces" }, { key: "skips" }, { key: "skipRange" }],
};
const REFERENCE: FieldForm = { key: "reference", zero: { schema: "" }, members: [{ key: "schema", zero: "" }, { key: "name" }] };
const SCHEMA: FieldForm = { key: "schema", zero: "" };

/** The fields that opm prints for each schema that it defines, in the same order. @see operator-registry v1.73.0 alpha/declcfg/declcfg.go */
const FORMS: ReadonlyMap<string, readonly FieldForm[]> = new Map([
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
 * Orders the fields of a catalog object like opm. Adds fields that opm always prints, and omits empty fields that opm omits. Unlike opm, keeps
 * unknown fields, at the end. In objects of other schemas, all fields are sorted by name.
 */
export function orderMetaMembers(meta: Meta): Meta {
  const form = FORMS.get(meta.schema);
  const blob = sortFields(meta.blob) as JsonObject;
  return { ...meta, blob: form === undefined ? blob : applyForm(blob, form) };
}

/** Sorts the fields of all objects by name. Keeps number tokens. */
function sortFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortFields);
  if (!isObject(value) || getNumberToken(value) !== undefined) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sortFields(value[key])]),
  );
}

function applyForm(object: JsonObject, form: readonly FieldForm[]): JsonObject {
  const stated = form.flatMap(({ key, zero, members }): [string, unknown][] => {
    const value = findMember(object, key) ?? zero;
    if (zero === undefined && isOmittedByGo(value)) return [];
    return [[key, members === undefined ? value : applyInside(value, members)]];
  });
  const known = new Set(form.map(({ key }) => foldKey(key)));
  const others = Object.entries(object).filter(([key]) => !known.has(foldKey(key)));
  return Object.fromEntries([...stated, ...others]);
}

function applyInside(value: unknown, members: readonly FieldForm[]): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => applyInside(item, members));
  return isObject(value) ? applyForm(value, members) : value;
}

/** Implements Go's `omitempty`, which never omits a struct. */
export function isOmittedByGo(value: unknown): boolean {
  return value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0);
}
