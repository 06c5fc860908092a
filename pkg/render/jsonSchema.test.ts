import { expect, test } from "vitest";
import kubernetes from "./kubeSchemas.json" with { type: "json" };

/** Keywords that SchemaChecker validates. */
const KNOWN = [
  "$ref",
  "additionalProperties",
  "allOf",
  "anyOf",
  "enum",
  "format",
  "items",
  "maxItems",
  "maxLength",
  "minItems",
  "minLength",
].concat(["oneOf", "pattern", "properties", "required", "type", "uniqueItems"]);

/** Returns the keywords of a schema and its subschemas, without the names of properties. */
function keywordsIn(schema: unknown): string[] {
  if (Array.isArray(schema)) return schema.flatMap(keywordsIn);
  if (typeof schema !== "object" || schema === null) return [];
  return Object.entries(schema).flatMap(([keyword, value]) => [
    keyword,
    ...(keyword === "properties" ? Object.values(value as object).flatMap(keywordsIn) : keywordsIn(value)),
  ]);
}

test("SchemaChecker supports all keywords in the embedded Kubernetes schemas", () => {
  const used = new Set(Object.values(kubernetes.schemas).flatMap(keywordsIn));
  expect(used.size).toBeGreaterThan(5);
  expect([...used].filter((keyword) => !KNOWN.includes(keyword))).toEqual([]);
});
