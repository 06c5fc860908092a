import { messageOf } from "../errors/errors.ts";
import { goJson } from "../fbc/canonical.ts";
import { GoTypeError } from "./goErrors.ts";
import { goTime } from "./goTime.ts";
import { type GoType, jsonMismatch, kindOf, setMember } from "./goValues.ts";
import { operatorRelease, operatorVersion } from "./operatorVersion.ts";
import { canonicalQuantity } from "./quantity.ts";

/**
 * The types that have JSON code of their own. `schema` gives the type of a CRD's JSON schema, for the three unions that hold one.
 * @throws Error for a name that has no code here, so that a new table cannot go unnoticed.
 */
export function specialType(name: string, schema: () => GoType): GoType {
  switch (name) {
    case "Quantity":
      return own("resource.Quantity", "0", (value) => asGoError(() => canonicalQuantity(quantityText(value))));
    case "IntOrString":
      return own("intstr.IntOrString", 0, intOrString);
    case "Time":
      return { ...own("v1.Time", null, (value) => asGoError(() => goTime(text(value)))), isEmpty: () => false };
    case "FieldsV1":
    case "JSON":
      return own("v1.JSON", null, sortedKeys);
    case "RawMessage":
      return { ...own("json.RawMessage", null, sortedKeys), isEmpty: (converted) => converted === null };
    case "OperatorVersion":
      return own("version.OperatorVersion", "0.0.0", (value) => asGoError(() => operatorVersion(text(value))));
    case "OperatorRelease":
      return own("release.OperatorRelease", "", (value) => asGoError(() => operatorRelease(text(value))));
    case "JSONSchemaPropsOrArray":
      return own("v1.JSONSchemaPropsOrArray", null, (value) => schemaOr(value, schema(), listOf));
    case "JSONSchemaPropsOrStringArray":
      return own("v1.JSONSchemaPropsOrStringArray", null, (value) => schemaOr(value, schema(), stringsOf));
    case "JSONSchemaPropsOrBool":
      return own("v1.JSONSchemaPropsOrBool", false, (value) => {
        if (typeof value === "boolean") return value;
        if (kindOf(value) === "map") return schema().convert(value);
        throw new GoTypeError("boolean or JSON schema expected");
      });
    default:
      throw new Error(`there is no code for the Go type ${name}`);
  }
}

/** A copy of a JSON value with the members of each object in the order of their names, as Go prints maps. */
export function sortedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortedKeys);
  if (typeof value !== "object" || value === null) return value;
  const source = value as Readonly<Record<string, unknown>>;
  const out: Record<string, unknown> = {};
  for (const key of Object.keys(source).sort()) setMember(out, key, sortedKeys(source[key]));
  return out;
}

/** Struct types are never empty for `omitempty`. */
function own(goName: string, zero: unknown, convert: (value: unknown) => unknown): GoType {
  return { goName, convert, zero: () => zero, isEmpty: () => false };
}

function text(value: unknown): string {
  if (typeof value === "string") return value;
  throw jsonMismatch(value, "string");
}

/** A list or map is no quantity, whatever JavaScript would make of it as text. */
function quantityText(value: unknown): string {
  return typeof value === "string" ? value : goJson(value);
}

function asGoError(convert: () => string): string {
  try {
    return convert();
  } catch (err) {
    if (err instanceof GoTypeError) throw err;
    throw new GoTypeError(messageOf(err), { cause: err });
  }
}

function intOrString(value: unknown): number | string {
  if (typeof value === "string") return value;
  if (typeof value === "number" && Number.isInteger(value) && value === (value | 0)) return value;
  throw jsonMismatch(value, "int32");
}

/** A schema, or what `list` makes of a list; anything else is silently nothing, as in Go. */
function schemaOr(value: unknown, schema: GoType, list: (items: readonly unknown[], schema: GoType) => unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? null : list(value, schema);
  return kindOf(value) === "map" ? schema.convert(value) : null;
}

function listOf(items: readonly unknown[], schema: GoType): unknown {
  return items.map((item) => (item === null ? schema.zero() : schema.convert(item)));
}

function stringsOf(items: readonly unknown[]): unknown {
  return items.map((item) => (item === null ? "" : text(item)));
}
