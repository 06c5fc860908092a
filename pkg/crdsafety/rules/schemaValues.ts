import { parseDurationValue, parseTimestamp } from "../../cel/timeFunctions.ts";
import { MapValue, UnorderedList, type Value } from "../../cel/values.ts";
import { encodeGoJson } from "../../golang/json.ts";
import { isObject } from "../../golang/members.ts";
import type { Spend } from "../objectFaults.ts";
import type { RawObject } from "../schema.ts";

/** A value that only the API server can convert. */
class UnsupportedValue extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UnsupportedValue";
  }
}

const STRING_SCHEMA = { type: "string" };
/** The fields of a resource that rules can always read. Rules can read no other metadata. */
const RESOURCE_FIELDS = {
  apiVersion: STRING_SCHEMA,
  kind: STRING_SCHEMA,
  metadata: { type: "object", properties: { name: STRING_SCHEMA, generateName: STRING_SCHEMA } },
};
const RESERVED: ReadonlySet<string> = new Set(
  "true false null in as break const continue else for function if import let loop package namespace return var void while".split(" "),
);
const ESCAPES: Readonly<Record<string, string>> = { __: "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__" };

/**
 * Returns a value with the defaults of its schema, and without nulls that the schema does not allow, as the API server reads a stored object. Objects
 * in the result may be parts of `value` and of the schema.
 */
export function addDefaults(schema: unknown, value: unknown, spend: Spend): unknown {
  spend(1);
  if (!isObject(schema)) return value;
  if (Array.isArray(value)) {
    const { items } = schema;
    return isObject(items) ? value.map((item) => addDefaults(items, item, spend)) : value;
  }
  if (!isObject(value)) return value;
  const properties = readProperties(schema);
  const { additionalProperties } = schema;
  const result = new Map<string, unknown>();
  for (const [name, member] of Object.entries(value)) {
    const property = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
    if (member === null && isObject(property) && property["nullable"] !== true) continue;
    result.set(name, addDefaults(property, member, spend));
  }
  for (const [name, property] of Object.entries(properties)) {
    if (result.has(name) || !isObject(property) || property["default"] === undefined) continue;
    result.set(name, addDefaults(property, property["default"], spend));
  }
  return Object.fromEntries(result);
}

/**
 * Converts a value with defaults to a value of CEL, with the types of its schema. Converts members only when a rule reads them.
 * @param isResource whether the value has the fields of a resource
 * @throws UnsupportedValue, also when a member is read
 * @see https://github.com/kubernetes/kubernetes/blob/v1.34.0/staging/src/k8s.io/apiserver/pkg/cel/common/values.go
 */
export function convertBySchema(schema: unknown, value: unknown, isResource: boolean, spend: Spend): Value {
  spend(1);
  if (value === null || value === undefined) return null;
  if (!isObject(schema)) throw new UnsupportedValue("a value has no schema");
  if (schema["x-kubernetes-int-or-string"] === true) return typeof value === "string" ? value : toInteger(value);
  switch (schema["type"]) {
    case "integer":
      return toInteger(value);
    case "number":
      return Number(value);
    case "boolean":
      return value === true;
    case "string":
      return typeof value === "string" ? convertText(value, schema["format"]) : rejectValue("a text has another type");
    case "array":
      return convertList(schema, value, spend);
    case "object":
      return convertObject(schema, value, isResource || schema["x-kubernetes-embedded-resource"] === true, spend);
    default:
      // A value of unknown type can only be compared.
      return `\0${encodeGoJson(value)}`;
  }
}

function toInteger(value: unknown): bigint {
  if (typeof value !== "number" || !Number.isSafeInteger(value)) throw new UnsupportedValue("an integer is larger than 2^53");
  return BigInt(value);
}

function convertText(text: string, format: unknown): Value {
  switch (format) {
    case "date":
      return parseTimestamp(`${text}T00:00:00Z`) ?? rejectText(format);
    case "date-time":
      return parseTimestamp(text) ?? rejectText(format);
    case "duration":
      return parseDurationValue(text) ?? rejectText(format);
    case "byte":
      return new Uint8Array(Buffer.from(text, "base64"));
    default:
      return text;
  }
}

function rejectText(format: string): never {
  return rejectValue(`a text is not in the usual form of format ${format}`);
}

function rejectValue(reason: string): never {
  throw new UnsupportedValue(reason);
}

function convertList(schema: RawObject, value: unknown, spend: Spend): Value {
  const list = (Array.isArray(value) ? value : []).map((item) => convertBySchema(schema["items"], item, false, spend));
  const type = schema["x-kubernetes-list-type"];
  return type === "set" || type === "map" ? UnorderedList.from(list) : list;
}

function convertObject(schema: RawObject, value: unknown, isResource: boolean, spend: Spend): Value {
  if (!isObject(value)) return new MapValue([]);
  const properties = isResource ? { ...readProperties(schema), ...RESOURCE_FIELDS } : readProperties(schema);
  const { additionalProperties } = schema;
  const isMap = !isResource && schema["properties"] === undefined && isObject(additionalProperties);
  const entries: [string, () => Value][] = [];
  for (const [name, member] of Object.entries(value)) {
    spend(1);
    if (isMap) entries.push([name, () => convertBySchema(additionalProperties, member, false, spend)]);
    else if (Object.hasOwn(properties, name)) {
      // A property without a CEL name counts only when objects are compared.
      const key = escapeProperty(name) ?? `\0${name}`;
      entries.push([key, () => convertBySchema(properties[name], member, false, spend)]);
    } else if (schema["x-kubernetes-preserve-unknown-fields"] === true) entries.push([`\0${name}`, () => `\0${encodeGoJson(member)}`]);
  }
  return new MapValue(entries);
}

function readProperties(schema: RawObject): RawObject {
  return isObject(schema["properties"]) ? schema["properties"] : {};
}

/**
 * Returns the name of a property in rules; undefined if rules cannot read it.
 * @see https://github.com/kubernetes/kubernetes/blob/v1.34.0/staging/src/k8s.io/apiserver/pkg/cel/escaping.go
 */
function escapeProperty(name: string): string | undefined {
  if (RESERVED.has(name)) return `__${name}__`;
  if (!/^[a-zA-Z_./-][\w./-]*$/.test(name)) return undefined;
  return name.replace(/__|[./-]/g, (part) => ESCAPES[part] ?? part);
}
