import { isDeepStrictEqual } from "node:util";
import type { Structural } from "../../pkg/api/customResourceDefinitions.ts";

/** Settings of the check. */
interface Judging {
  /** The value is a part of an object: required members may be missing. */
  readonly isPart: boolean;
}

/**
 * Returns the reasons for which the API server would reject or prune a value with a structural schema: unknown members, types, bounds, enumerations,
 * required members.
 * Ignores CEL rules.
 */
export function structuralProblems(schema: Structural, value: unknown, judging: Judging, path = ""): string[] {
  const at = path === "" ? "the document" : path;
  if (value === null) return [];
  if (schema["x-kubernetes-preserve-unknown-fields"] === true) return [];
  if (!hasType(schema.type, value)) return [`${at} is not of type ${schema.type ?? "value"}`];
  if (schema.enum && !schema.enum.some((one) => isDeepStrictEqual(one, value))) return [`${at} is not one of ${schema.enum.join(", ")}`];
  if (typeof value === "string") return textProblems(schema, value, at);
  if (Array.isArray(value)) {
    const { items } = schema;
    return items ? value.flatMap((item, i) => structuralProblems(items, item, judging, `${path}[${i}]`)) : [];
  }
  if (typeof value !== "object") return numberProblems(schema, value, at);
  const missing = judging.isPart ? [] : (schema.required ?? []).filter((name) => !Object.hasOwn(value, name));
  const members = Object.entries(value).flatMap(([name, member]): string[] => {
    const inner = path === "" ? name : `${path}.${name}`;
    const known = schema.properties?.[name] ?? schema.additionalProperties;
    if (known === undefined && schema.properties === undefined) return [];
    if (known === undefined || known === false) return [`${inner} is unknown`];
    return known === true ? [] : structuralProblems(known, member, judging, inner);
  });
  return [...missing.map((name) => `${at} has no ${name}`), ...members];
}

function hasType(type: string | undefined, value: unknown): boolean {
  switch (type) {
    case "object":
      return typeof value === "object" && !Array.isArray(value);
    case "array":
      return Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    case "string":
    case "boolean":
    case "number":
      return typeof value === type;
    case undefined:
    default:
      return true;
  }
}

function textProblems({ pattern, maxLength, minLength }: Structural, text: string, at: string): string[] {
  if (typeof pattern === "string" && !new RegExp(pattern, "u").test(text)) return [`${at} does not match ${pattern}`];
  if (typeof maxLength === "number" && text.length > maxLength) return [`${at} is too long`];
  return typeof minLength === "number" && text.length < minLength ? [`${at} is too short`] : [];
}

function numberProblems({ minimum, maximum }: Structural, value: unknown, at: string): string[] {
  if (typeof minimum === "number" && Number(value) < minimum) return [`${at} is below ${minimum}`];
  return typeof maximum === "number" && Number(value) > maximum ? [`${at} is above ${maximum}`] : [];
}
