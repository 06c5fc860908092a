import { encodeGoJson } from "../golang/json.ts";
import { isObject } from "../golang/members.ts";

/**
 * A Go type in the schema of a CRD. Findings contain Go values, so checks use Go semantics: absent members are zero, and a nil list differs
 * from an empty one.
 */
export type GoSchemaType = GoScalar | GoPointer | GoSlice | GoMap | GoSchemaStruct;

interface GoScalar {
  readonly kind: "string" | "bool" | "int" | "float" | "byte";
}

interface GoPointer {
  readonly kind: "pointer";
  readonly to: GoSchemaType;
}

/** A Go slice. `label` is the type as printed by Go. */
export interface GoSlice {
  readonly kind: "slice";
  readonly label: string;
  readonly of: GoSchemaType;
}

/** A Go map with string keys. */
interface GoMap {
  readonly kind: "map";
  readonly label: string;
  readonly of: GoSchemaType;
}

export interface GoSchemaStruct {
  readonly kind: "struct";
  readonly label: string;
  /** In the order of declaration and printing. */
  readonly fields: readonly GoField[];
}

interface GoField {
  readonly name: string;
  /** The name in JSON; absent for a type with its own JSON encoding. */
  readonly json?: string;
  readonly type: GoSchemaType;
}

/** A Go value. Integers beyond 2^53 are bigint. A list of bytes is a text decoded from UTF-8. A nil pointer, list or map is null. */
export type GoValue = string | boolean | number | bigint | null | readonly GoValue[] | ReadonlyMap<string, GoValue> | GoObject;

/** A struct: its non-zero fields by name. */
export interface GoObject {
  readonly [field: string]: GoValue;
}

const NO_FIELDS: GoObject = {};

/** Returns the zero value of a type. */
function getZeroValue(type: GoSchemaType): GoValue {
  switch (type.kind) {
    case "string":
      return "";
    case "bool":
      return false;
    case "int":
    case "float":
    case "byte":
      return 0;
    case "struct":
      return NO_FIELDS;
    case "pointer":
    case "slice":
    case "map":
    default:
      return null;
  }
}

/** Formats a string, number or boolean. Returns an empty text for nil or absent values. */
export function formatScalar(value: GoValue | undefined): string {
  return typeof value === "object" || value === undefined ? "" : String(value);
}

/** Returns a field of a struct value. */
export function getField(value: GoValue, { name, type }: GoField): GoValue {
  return (value as GoObject)[name] ?? getZeroValue(type);
}

/** Returns the elements of a list value that is not nil. */
export function getElements({ of }: GoSlice, value: GoValue): readonly GoValue[] {
  if (of.kind === "byte") return [...Buffer.from(formatScalar(value))];
  return value as readonly GoValue[];
}

/**
 * Returns whether two values are semantically equal: a nil list or map equals an empty one.
 * @see https://pkg.go.dev/k8s.io/apimachinery/pkg/api/equality Semantic.DeepEqual
 */
export function isSameMeaning(type: GoSchemaType, a: GoValue, b: GoValue): boolean {
  switch (type.kind) {
    case "pointer":
      return a === null || b === null ? a === b : isSameMeaning(type.to, a, b);
    case "slice": {
      if (type.of.kind === "byte") return (a ?? "") === (b ?? "");
      const [one, other] = [(a ?? []) as readonly GoValue[], (b ?? []) as readonly GoValue[]];
      return one.length === other.length && one.every((value, index) => isSameMeaning(type.of, value, other[index] ?? null));
    }
    case "map": {
      const [one, other] = [toMap(a), toMap(b)];
      return (
        one.size === other.size && [...one].every(([key, value]) => other.has(key) && isSameMeaning(type.of, value, other.get(key) ?? null))
      );
    }
    case "struct":
      return a === b || type.fields.every((field) => isSameMeaning(field.type, getField(a, field), getField(b, field)));
    case "string":
    case "bool":
    case "int":
    case "float":
    case "byte":
    default:
      return a === b;
  }
}

function toMap(value: GoValue): ReadonlyMap<string, GoValue> {
  return (value ?? new Map()) as ReadonlyMap<string, GoValue>;
}

const STRING: GoScalar = { kind: "string" };
const BOOL: GoScalar = { kind: "bool" };
const INT: GoPointer = { kind: "pointer", to: { kind: "int" } };
const FLOAT: GoPointer = { kind: "pointer", to: { kind: "float" } };
const STRING_POINTER: GoPointer = { kind: "pointer", to: STRING };
const BOOL_POINTER: GoPointer = { kind: "pointer", to: BOOL };
const STRINGS: GoSlice = { kind: "slice", label: "[]string", of: STRING };
const BYTES: GoSlice = { kind: "slice", label: "[]uint8", of: { kind: "byte" } };

/** Any JSON value, as text with sorted members and without spaces. */
const ANY_JSON: GoSchemaStruct = { kind: "struct", label: "v1.JSON", fields: [{ name: "Raw", type: BYTES }] };
const ANY_JSON_POINTER: GoPointer = { kind: "pointer", to: ANY_JSON };

const EXTERNAL_DOCS: GoSchemaStruct = {
  kind: "struct",
  label: "v1.ExternalDocumentation",
  fields: [
    { name: "Description", json: "description", type: STRING },
    { name: "URL", json: "url", type: STRING },
  ],
};

const RULE: GoSchemaStruct = {
  kind: "struct",
  label: "v1.ValidationRule",
  fields: [
    { name: "Rule", json: "rule", type: STRING },
    { name: "Message", json: "message", type: STRING },
    { name: "MessageExpression", json: "messageExpression", type: STRING },
    { name: "Reason", json: "reason", type: STRING_POINTER },
    { name: "FieldPath", json: "fieldPath", type: STRING },
    { name: "OptionalOldSelf", json: "optionalOldSelf", type: BOOL_POINTER },
  ],
};

/** The recursive schema of one value. @see https://pkg.go.dev/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1#JSONSchemaProps */
export const SCHEMA: GoSchemaStruct = {
  kind: "struct",
  label: "v1.JSONSchemaProps",
  get fields() {
    return SCHEMA_FIELDS;
  },
};

const SCHEMA_POINTER: GoPointer = { kind: "pointer", to: SCHEMA };
const SCHEMAS: GoSlice = { kind: "slice", label: "[]v1.JSONSchemaProps", of: SCHEMA };
const SCHEMA_MAP: GoMap = { kind: "map", label: "map[string]v1.JSONSchemaProps", of: SCHEMA };

/** `items`: one schema, or one for each position of a tuple. */
const SCHEMA_OR_LIST: GoSchemaStruct = {
  kind: "struct",
  label: "v1.JSONSchemaPropsOrArray",
  fields: [
    { name: "Schema", type: SCHEMA_POINTER },
    { name: "JSONSchemas", type: SCHEMAS },
  ],
};

/** `additionalProperties` and `additionalItems`: a schema, or a boolean that allows or forbids them. */
const SCHEMA_OR_BOOL: GoSchemaStruct = {
  kind: "struct",
  label: "v1.JSONSchemaPropsOrBool",
  fields: [
    { name: "Allows", type: BOOL },
    { name: "Schema", type: SCHEMA_POINTER },
  ],
};

/** A member of `dependencies`: a schema, or a list of member names. */
const SCHEMA_OR_STRINGS: GoSchemaStruct = {
  kind: "struct",
  label: "v1.JSONSchemaPropsOrStringArray",
  fields: [
    { name: "Schema", type: SCHEMA_POINTER },
    { name: "Property", type: STRINGS },
  ],
};

const pointerTo = (to: GoSchemaType): GoPointer => ({ kind: "pointer", to });

const SCHEMA_FIELDS: readonly GoField[] = [
  { name: "ID", json: "id", type: STRING },
  { name: "Schema", json: "$schema", type: STRING },
  { name: "Ref", json: "$ref", type: STRING_POINTER },
  { name: "Description", json: "description", type: STRING },
  { name: "Type", json: "type", type: STRING },
  { name: "Format", json: "format", type: STRING },
  { name: "Title", json: "title", type: STRING },
  { name: "Default", json: "default", type: ANY_JSON_POINTER },
  { name: "Maximum", json: "maximum", type: FLOAT },
  { name: "ExclusiveMaximum", json: "exclusiveMaximum", type: BOOL },
  { name: "Minimum", json: "minimum", type: FLOAT },
  { name: "ExclusiveMinimum", json: "exclusiveMinimum", type: BOOL },
  { name: "MaxLength", json: "maxLength", type: INT },
  { name: "MinLength", json: "minLength", type: INT },
  { name: "Pattern", json: "pattern", type: STRING },
  { name: "MaxItems", json: "maxItems", type: INT },
  { name: "MinItems", json: "minItems", type: INT },
  { name: "UniqueItems", json: "uniqueItems", type: BOOL },
  { name: "MultipleOf", json: "multipleOf", type: FLOAT },
  { name: "Enum", json: "enum", type: { kind: "slice", label: "[]v1.JSON", of: ANY_JSON } },
  { name: "MaxProperties", json: "maxProperties", type: INT },
  { name: "MinProperties", json: "minProperties", type: INT },
  { name: "Required", json: "required", type: STRINGS },
  { name: "Items", json: "items", type: pointerTo(SCHEMA_OR_LIST) },
  { name: "AllOf", json: "allOf", type: SCHEMAS },
  { name: "OneOf", json: "oneOf", type: SCHEMAS },
  { name: "AnyOf", json: "anyOf", type: SCHEMAS },
  { name: "Not", json: "not", type: SCHEMA_POINTER },
  { name: "Properties", json: "properties", type: SCHEMA_MAP },
  { name: "AdditionalProperties", json: "additionalProperties", type: pointerTo(SCHEMA_OR_BOOL) },
  { name: "PatternProperties", json: "patternProperties", type: SCHEMA_MAP },
  { name: "Dependencies", json: "dependencies", type: { kind: "map", label: "v1.JSONSchemaDependencies", of: SCHEMA_OR_STRINGS } },
  { name: "AdditionalItems", json: "additionalItems", type: pointerTo(SCHEMA_OR_BOOL) },
  { name: "Definitions", json: "definitions", type: { kind: "map", label: "v1.JSONSchemaDefinitions", of: SCHEMA } },
  { name: "ExternalDocs", json: "externalDocs", type: pointerTo(EXTERNAL_DOCS) },
  { name: "Example", json: "example", type: ANY_JSON_POINTER },
  { name: "Nullable", json: "nullable", type: BOOL },
  { name: "XPreserveUnknownFields", json: "x-kubernetes-preserve-unknown-fields", type: BOOL_POINTER },
  { name: "XEmbeddedResource", json: "x-kubernetes-embedded-resource", type: BOOL },
  { name: "XIntOrString", json: "x-kubernetes-int-or-string", type: BOOL },
  { name: "XListMapKeys", json: "x-kubernetes-list-map-keys", type: STRINGS },
  { name: "XListType", json: "x-kubernetes-list-type", type: STRING_POINTER },
  { name: "XMapType", json: "x-kubernetes-map-type", type: STRING_POINTER },
  { name: "XValidations", json: "x-kubernetes-validations", type: { kind: "slice", label: "v1.ValidationRules", of: RULE } },
];

/** A JSON object of unknown content. */
export type RawObject = Readonly<Record<string, unknown>>;

/**
 * Decodes one node of a schema like Go, without `properties` and `items`, whose children have their own paths. Omits unknown members and
 * members of a wrong type, which the API server rejects.
 */
export function decodeNode(raw: RawObject): GoObject {
  const fields: Record<string, GoValue> = {};
  for (const { name, json = "", type } of SCHEMA.fields) {
    if (name === "Properties" || name === "Items" || !Object.hasOwn(raw, json)) continue;
    fields[name] = decode(type, raw[json]);
  }
  return fields;
}

function decode(type: GoSchemaType, raw: unknown): GoValue {
  if (type === ANY_JSON) return raw === null || raw === undefined ? {} : { Raw: encodeGoJson(raw) };
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
      return isSet(type.to, raw) ? decode(type.to, raw) : null;
    case "slice":
      return Array.isArray(raw) ? raw.map((element) => decode(type.of, element)) : null;
    case "map":
      return isObject(raw) ? new Map(Object.entries(raw).map(([key, value]) => [key, decode(type.of, value)])) : null;
    case "struct":
      return decodeStruct(type, raw);
    case "byte":
    default:
      return getZeroValue(type);
  }
}

function decodeStruct(type: Extract<GoSchemaType, { kind: "struct" }>, raw: unknown): GoObject {
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

/** Returns whether `raw` sets a pointer to `type`. With null or a value of a wrong type, the pointer stays nil. */
function isSet(type: GoSchemaType, raw: unknown): boolean {
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

/** Maximum numbers of levels and parts of a schema. An API server accepts fewer. */
const MAX_LEVELS = 400;
const MAX_PARTS = 500_000;
/**
 * Maximum length of a path, and of all paths together, in characters. The paths of a small schema
 * can be long, because each path contains the names of all its parents. V8 hashes texts of more than
 * 16,383 characters by their length only, so that a Map of such paths is slow.
 */
const MAX_PATH = 4_096;
const MAX_PATHS = 8 * 1024 * 1024;

/** Visits a schema with its path. */
type Walk = (schema: unknown, path: string) => void;

/**
 * Returns all schemas in `root` by path: `^` for the root, then `.name` for a property, `.items` for the elements of a list,
 * `.additionalProperties` for the values of a map, `.allOf[0]` and so on for alternatives. The last of several schemas with the same path wins.
 * Returns undefined if the paths are too long.
 * @param root not larger than `findSizeFault` allows.
 */
function flatten(root: unknown): Map<string, RawObject> | undefined {
  const nodes = new Map<string, RawObject>();
  let characters = 0;
  const walk: Walk = (schema, path) => {
    if (!isObject(schema) || characters > MAX_PATHS) return;
    characters += path.length > MAX_PATH ? Number.POSITIVE_INFINITY : path.length;
    if (characters > MAX_PATHS) return;
    nodes.set(path, schema);
    const { items, not, additionalProperties, additionalItems } = schema;
    if (Array.isArray(items)) for (const [index, one] of items.entries()) walk(one, `${path}.items[${index}]`);
    else walk(items, `${path}.items`);
    for (const holder of ["allOf", "anyOf", "oneOf"]) {
      const list = schema[holder];
      if (Array.isArray(list)) for (const [index, one] of list.entries()) walk(one, `${path}.${holder}[${index}]`);
    }
    walk(not, `${path}.not`);
    for (const [name, one] of listMembers(schema["properties"])) walk(one, `${path}.${name}`);
    walk(additionalProperties, `${path}.additionalProperties`);
    for (const [name, one] of listMembers(schema["patternProperties"])) walk(one, `${path}.patternProperties[${name}]`);
    walk(additionalItems, `${path}.additionalItems`);
    for (const [name, one] of listMembers(schema["definitions"])) walk(one, `${path}.definitions[${name}]`);
    for (const [name, one] of listMembers(schema["dependencies"])) walk(one, `${path}.dependencies[${name}]`);
  };
  walk(root, "^");
  return characters > MAX_PATHS ? undefined : nodes;
}

/** The nodes of a schema by path, or the reason why it is too large. */
export type FlatSchema = { readonly nodes: ReadonlyMap<string, RawObject> } | { readonly tooLarge: string };

/** Flattens `root` unless it is too large. */
export function flattenSchema(root: unknown): FlatSchema {
  const tooLarge = findSizeFault(root);
  if (tooLarge !== undefined) return { tooLarge };
  const nodes = flatten(root);
  return nodes ? { nodes } : { tooLarge: "the paths of its fields are too long" };
}

/** Returns why a schema is too large to compare, or undefined. A schema that contains itself has infinite levels. */
export function findSizeFault(root: unknown): string | undefined {
  let parts = 0;
  const level = (value: unknown, depth: number): boolean => {
    if (++parts > MAX_PARTS) return false;
    if (typeof value !== "object" || value === null) return true;
    if (depth > MAX_LEVELS) return false;
    const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
    return members.every((member) => level(member, depth + 1));
  };
  if (level(root, 0)) return undefined;
  return parts > MAX_PARTS ? `it has more than ${MAX_PARTS} parts` : `it is nested deeper than ${MAX_LEVELS} levels`;
}

function listMembers(value: unknown): [string, unknown][] {
  return isObject(value) ? Object.entries(value) : [];
}
