import { getErrorMessage } from "../errors/errors.ts";
import { encodeGoJson } from "../golang/json.ts";
import { normalizeQuantity } from "../golang/quantity.ts";
import { normalizeTime } from "../golang/time.ts";
import {
  ANY_CASE_JSON,
  bool,
  bytes,
  CONVERTER,
  createJsonMismatch,
  float64,
  type GoMode,
  type GoType,
  GoTypeError,
  getGoKind,
  integer,
  ListType,
  MapType,
  type Member,
  PointerType,
  STRICT_CASE_JSON,
  StructType,
  setMember,
  string,
} from "../golang/types.ts";
import { parseOperatorRelease, parseOperatorVersion } from "../version/version.ts";
import table from "./goTypes.json" with { type: "json" };

/**
 * Returns a type with custom JSON code. `schema` returns the type of a CRD's JSON schema, which three union types contain.
 * @throws Error for an unknown name, to detect new types in a generated table.
 */
function customType(name: string, schema: () => GoType): GoType {
  switch (name) {
    case "Quantity":
      return own("resource.Quantity", "0", (value) => asGoError(() => normalizeQuantity(quantityText(value))));
    case "IntOrString":
      return own("intstr.IntOrString", 0, intOrString);
    case "Time":
      return { ...own("v1.Time", null, (value) => asGoError(() => normalizeTime(text(value)))), isEmpty: () => false };
    case "FieldsV1":
    case "JSON":
      return own("v1.JSON", null, sortKeys);
    case "RawMessage":
      return { ...own("json.RawMessage", null, sortKeys), isEmpty: (converted) => converted === null };
    case "OperatorVersion":
      return own("version.OperatorVersion", "0.0.0", (value) => asGoError(() => parseOperatorVersion(text(value))));
    case "OperatorRelease":
      return own("release.OperatorRelease", "", (value) => asGoError(() => parseOperatorRelease(text(value))));
    case "JSONSchemaPropsOrArray":
      return own("v1.JSONSchemaPropsOrArray", null, (value) => schemaOr(value, schema(), toTypedList));
    case "JSONSchemaPropsOrStringArray":
      return own("v1.JSONSchemaPropsOrStringArray", null, (value) => schemaOr(value, schema(), toStrings));
    case "JSONSchemaPropsOrBool":
      return own("v1.JSONSchemaPropsOrBool", false, (value) => {
        if (typeof value === "boolean") return value;
        if (getGoKind(value) === "map") return schema().convert(value);
        throw new GoTypeError("boolean or JSON schema expected");
      });
    default:
      throw new Error(`the Go type ${name} is not implemented`);
  }
}

/** Copies a JSON value and sorts the fields of all objects by name, as Go prints maps. */
export function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== "object" || value === null) return value;
  const source = value as Readonly<Record<string, unknown>>;
  const out: Record<string, unknown> = {};
  for (const key of Object.keys(source).sort()) setMember(out, key, sortKeys(source[key]));
  return out;
}

/** Creates a type that is never empty for `omitempty`, like a struct. */
function own(goName: string, zero: unknown, convert: (value: unknown) => unknown): GoType {
  return { goName, convert, zero: () => zero, isEmpty: () => false };
}

function text(value: unknown): string {
  if (typeof value === "string") return value;
  throw createJsonMismatch(value, "string");
}

/** Lists and maps are not quantities. Formats them as JSON, because JavaScript could convert them to a valid quantity. */
function quantityText(value: unknown): string {
  return typeof value === "string" ? value : encodeGoJson(value);
}

function asGoError(convert: () => string): string {
  try {
    return convert();
  } catch (err) {
    if (err instanceof GoTypeError) throw err;
    throw new GoTypeError(getErrorMessage(err), { cause: err });
  }
}

function intOrString(value: unknown): number | string {
  if (typeof value === "string") return value;
  if (typeof value === "number" && Number.isInteger(value) && value === (value | 0)) return value;
  throw createJsonMismatch(value, "int32");
}

/** Converts a schema, or a list with `list`. Ignores all other values, as Go does. */
function schemaOr(value: unknown, schema: GoType, list: (items: readonly unknown[], schema: GoType) => unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? null : list(value, schema);
  return getGoKind(value) === "map" ? schema.convert(value) : null;
}

function toTypedList(items: readonly unknown[], schema: GoType): unknown {
  return items.map((item) => (item === null ? schema.zero() : schema.convert(item)));
}

function toStrings(items: readonly unknown[]): unknown {
  return items.map((item) => (item === null ? "" : text(item)));
}

/**
 * The Go struct types that decode bundles and configuration, with the rules of a GoMode. A conversion decodes and encodes a value. The result is the
 * output of Go, with fields in Go's order: unknown and null fields are dropped, fields without `omitempty` get their zero value, and quantities are
 * canonical. The input is not changed, but the result can share parts of it.
 */
class GoTypes {
  readonly mode: GoMode;
  readonly #structs = new Map<string, StructType>();
  readonly #schema: () => GoType;

  /** @param schemas types for schemas in `items` and similar fields, which Go decodes with custom code; default: this instance. */
  constructor(mode: GoMode, schemas?: GoTypes) {
    this.mode = mode;
    this.#schema = () => (schemas ?? this).type("apiextensions/v1.JSONSchemaProps");
    const definitions: Readonly<Record<string, readonly string[] | null>> = table.types;
    for (const name of Object.keys(definitions)) this.#structs.set(name, new StructType(name, mode));
    for (const [name, members] of Object.entries(definitions)) {
      this.#struct(name).define((members ?? []).map((text, index) => this.#member(text, index)));
    }
  }

  /**
   * Converts a value to the struct `name`, such as "apiextensions/v1.CustomResourceDefinition".
   * @throws GoTypeError with the message of Go if a field has the wrong type.
   */
  convert(name: string, value: unknown): unknown {
    const type = this.type(name);
    return value === null || value === undefined ? type.zero() : type.convert(value);
  }

  /** Returns the struct type `name`. @throws Error if the table does not contain it. */
  type(name: string): GoType {
    return this.#struct(name);
  }

  #struct(name: string): StructType {
    const type = this.#structs.get(name);
    if (!type) throw new Error(`unknown Go type ${name}`);
    return type;
  }

  #member(text: string, index: number): Member {
    const [name = "", type = "", ...options] = text.split(" ");
    return { name, index, type: this.#type(type), omitEmpty: options.includes("omitempty"), omitZero: options.includes("omitzero") };
  }

  #type(text: string): GoType {
    if (text.startsWith("[]")) return new ListType(this.#type(text.slice(2)), this.mode);
    if (text.startsWith("{}")) return new MapType(this.#type(text.slice(2)), this.mode);
    if (text.startsWith("*")) return new PointerType(this.#type(text.slice(1)));
    if (text.startsWith("!")) return customType(text.slice(1), this.#schema);
    const [kind = "", name = kind] = text.split("=");
    switch (kind) {
      case "string":
        return string(name, this.mode);
      case "bool":
        return bool(this.mode);
      case "int32":
      case "int64":
        return integer(kind, this.mode);
      case "int":
        return integer("int64", this.mode);
      case "float64":
        return float64(this.mode);
      case "bytes":
        return bytes(this.mode);
      default:
        return this.#struct(text);
    }
  }
}

const STRICT_TYPES = new GoTypes(STRICT_CASE_JSON);

/** Types for manifests, which use the unstructured converter of apimachinery. */
export const MANIFEST_TYPES = new GoTypes(CONVERTER, STRICT_TYPES);

/** Types for user configuration, which uses encoding/json. */
export const CONFIG_TYPES = new GoTypes(ANY_CASE_JSON, STRICT_TYPES);

/**
 * Checks `kind`, `apiVersion` and `metadata` of any object, which Kubernetes decodes first.
 * @throws GoTypeError with the message of Go if one has the wrong type.
 */
export function checkObjectMeta(object: Readonly<Record<string, unknown>>): void {
  STRICT_TYPES.convert("metadataOnlyObject", object);
}
