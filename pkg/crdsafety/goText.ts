import { compareText } from "../text/compare.ts";
import { formatScalar, type GoObject, type GoSchemaStruct, type GoSchemaType, type GoValue, getElements, getField } from "./schema.ts";

/** Go's `%v` uses exponent notation for numbers whose exponent is less than the first limit, or at least the second. */
const PLAIN_FROM = -4;
const PLAIN_BELOW = 6;

/** Formats a number like Go's `%v`: an integer as digits, a float64 as `0.5`, `100` or `4.294967295e+09`. */
export function formatGoNumber(value: GoValue, kind: "int" | "float" | "byte"): string {
  if (kind !== "float" || typeof value !== "number") return formatScalar(value);
  const [digits = "0", exponentText = "0"] = value.toExponential().split("e");
  const exponent = Number(exponentText);
  if (exponent >= PLAIN_FROM && exponent < PLAIN_BELOW) return formatScalar(value);
  return `${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/**
 * Formats a pointer to a struct of the CRD API like its String method: all fields, `nil` for unset fields, `*` before the target of a pointer.
 * Structs inside maps are printed without field names. For pointers in them, Go prints addresses, but this function prints their content.
 * @see https://pkg.go.dev/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1#JSONSchemaProps.String
 */
export function formatGoString({ label, fields }: GoSchemaStruct, value: GoValue): string {
  const members = fields.map((field) => `${field.name}:${memberText(field.type, getField(value, field))},`);
  return `&${withoutPackage(label)}{${members.join("")}}`;
}

function memberText(type: GoSchemaType, value: GoValue): string {
  switch (type.kind) {
    case "pointer":
      if (value === null) return "nil";
      return type.to.kind === "struct" ? formatGoString(type.to, value) : `*${plainText(type.to, value)}`;
    case "slice":
      if (type.of.kind === "struct") return structList(type.label, type.of, value);
      if (type.of.kind === "byte") return value === null ? "nil" : `*${plainText(type, value)}`;
      return plainText(type, value);
    case "map": {
      const members = [...((value ?? new Map()) as ReadonlyMap<string, GoValue>)].sort(([a], [b]) => compareText(a, b));
      return `${withoutPackage(type.label)}{${members.map(([key, member]) => `${key}: ${plainText(type.of, member)},`).join("")}}`;
    }
    case "string":
    case "bool":
    case "int":
    case "float":
    case "byte":
    case "struct":
    default:
      return plainText(type, value);
  }
}

function structList(label: string, of: GoSchemaStruct, value: GoValue): string {
  const elements = ((value ?? []) as readonly GoObject[]).map((element) => `${formatGoString(of, element).slice(1)},`);
  const name = label.startsWith("[]") ? withoutPackage(label) : `[]${withoutPackage(of.label)}`;
  return `${name}{${elements.join("")}}`;
}

/** Formats a value like Go's `%v`. */
function plainText(type: GoSchemaType, value: GoValue): string {
  switch (type.kind) {
    case "int":
    case "float":
    case "byte":
      return formatGoNumber(value, type.kind);
    case "pointer":
      return value === null ? "<nil>" : `&${plainText(type.to, value)}`;
    case "slice":
      return `[${
        value === null
          ? ""
          : getElements(type, value)
              .map((element) => plainText(type.of, element))
              .join(" ")
      }]`;
    case "map": {
      const members = [...((value ?? new Map()) as ReadonlyMap<string, GoValue>)].sort(([a], [b]) => compareText(a, b));
      return `map[${members.map(([key, member]) => `${key}:${plainText(type.of, member)}`).join(" ")}]`;
    }
    case "struct":
      return `{${type.fields.map((field) => plainText(field.type, getField(value, field))).join(" ")}}`;
    case "string":
    case "bool":
    default:
      return formatScalar(value);
  }
}

function withoutPackage(label: string): string {
  return label.replaceAll("v1.", "");
}
