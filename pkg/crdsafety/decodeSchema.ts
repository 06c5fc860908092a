import { isObject } from "../api/jsonObject.ts";
import { goJson } from "../fbc/canonical.ts";
import { type GoObject, type GoType, type GoValue, zeroOf } from "./goType.ts";
import { ANY_JSON, SCHEMA, SCHEMA_OR_BOOL, SCHEMA_OR_LIST, SCHEMA_OR_STRINGS } from "./schemaType.ts";

/** A JSON object of unknown content. */
export type RawObject = Readonly<Record<string, unknown>>;

/**
 * One node of a schema as Go reads it, without the children of which paths of their own exist, `properties` and `items`.
 * Members that Go does not know are left out, as are those of a wrong type: the API server refuses those.
 */
export function decodeNode(raw: RawObject): GoObject {
  const fields: Record<string, GoValue> = {};
  for (const { name, json = "", type } of SCHEMA.fields) {
    if (name === "Properties" || name === "Items" || !Object.hasOwn(raw, json)) continue;
    fields[name] = decode(type, raw[json]);
  }
  return fields;
}

function decode(type: GoType, raw: unknown): GoValue {
  if (type === ANY_JSON) return raw === null || raw === undefined ? {} : { Raw: goJson(raw) };
  switch (type.kind) {
    case "string":
      return typeof raw === "string" ? raw : "";
    case "bool":
      return raw === true;
    case "int":
      return integer(raw) ?? 0;
    case "float":
      return typeof raw === "bigint" ? Number(raw) : typeof raw === "number" ? raw : 0;
    case "pointer":
      return fits(type.to, raw) ? decode(type.to, raw) : null;
    case "slice":
      return Array.isArray(raw) ? raw.map((element) => decode(type.of, element)) : null;
    case "map":
      return isObject(raw) ? new Map(Object.entries(raw).map(([key, value]) => [key, decode(type.of, value)])) : null;
    case "struct":
      return decodeStruct(type, raw);
    case "byte":
    default:
      return zeroOf(type);
  }
}

function decodeStruct(type: Extract<GoType, { kind: "struct" }>, raw: unknown): GoObject {
  if (type === SCHEMA_OR_BOOL) {
    return isObject(raw) ? { Allows: true, Schema: decode(SCHEMA, raw) } : { Allows: raw === true };
  }
  if (type === SCHEMA_OR_LIST || type === SCHEMA_OR_STRINGS) {
    if (isObject(raw)) return { Schema: decode(SCHEMA, raw) };
    const list = type.fields[1];
    return Array.isArray(raw) && list ? { [list.name]: decode(list.type, raw) } : {};
  }
  const fields: Record<string, GoValue> = {};
  if (!isObject(raw)) return fields;
  for (const { name, json = "", type: of } of type.fields) if (Object.hasOwn(raw, json)) fields[name] = decode(of, raw[json]);
  return fields;
}

/** Whether a pointer to `type` is set by `raw`; null and what is of a wrong type leave it nil. */
function fits(type: GoType, raw: unknown): boolean {
  if (raw === null || raw === undefined) return false;
  switch (type.kind) {
    case "string":
      return typeof raw === "string";
    case "bool":
      return typeof raw === "boolean";
    case "int":
      return integer(raw) !== undefined;
    case "float":
      return typeof raw === "number" || typeof raw === "bigint";
    case "byte":
    case "pointer":
    case "slice":
    case "map":
    case "struct":
    default:
      if (type === SCHEMA_OR_BOOL) return isObject(raw) || typeof raw === "boolean";
      return type === ANY_JSON || type === SCHEMA_OR_LIST || isObject(raw);
  }
}

function integer(raw: unknown): number | bigint | undefined {
  if (typeof raw === "bigint") return raw;
  if (typeof raw !== "number" || !Number.isInteger(raw)) return undefined;
  return Number.isSafeInteger(raw) ? raw : BigInt(raw);
}
