import { expect, test } from "vitest";
import { classifyField, type FieldKind, type FieldSchema, withFieldValue } from "./schema.ts";

const ROOT: FieldSchema & { components: unknown } = {
  components: {
    schemas: {
      Quantity: { oneOf: [{ type: "string" }, { type: "number" }] },
      Env: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
      Loop: { $ref: "#/components/schemas/Loop" },
    },
  },
};

test.for<[what: string, schema: FieldSchema, field: FieldKind]>([
  ["a text", { type: "string" }, { kind: "text", suggestions: [] }],
  ["an integer", { type: "integer" }, { kind: "number", isInteger: true }],
  ["a nullable boolean", { type: ["boolean", "null"] }, { kind: "boolean" }],
  ["an enumeration", { type: "string", enum: ["", "In", "NotIn"] }, { kind: "choice", values: ["In", "NotIn"] }],
  ["an enumeration with other values", { enum: ["a", 1] }, { kind: "unknown" }],
  ["a nullable text or *", { anyOf: [{ type: "null" }, { type: "string" }, { enum: ["", "*"] }] }, { kind: "text", suggestions: ["*"] }],
  ["a quantity", { $ref: "#/components/schemas/Quantity" }, { kind: "text", suggestions: [] }],
  ["texts by key", { type: "object", additionalProperties: { type: "string" } }, { kind: "map", values: { type: "string" } }],
  [
    "an object by reference",
    { $ref: "#/components/schemas/Env" },
    { kind: "object", properties: { name: { type: "string" } }, required: ["name"] },
  ],
  ["a list", { type: "array", items: { type: "string" } }, { kind: "list", items: { type: "string" } }],
  [
    "two forms",
    { oneOf: [{ type: "string" }, { type: "boolean" }] },
    { kind: "variants", variants: [{ type: "string" }, { type: "boolean" }] },
  ],
  ["any object", { type: "object" }, { kind: "unknown" }],
  ["a missing reference", { $ref: "#/components/schemas/None" }, { kind: "unknown" }],
  ["a reference to a prototype", { $ref: "#/components/constructor" }, { kind: "unknown" }],
  ["a circular reference", { $ref: "#/components/schemas/Loop" }, { kind: "unknown" }],
])("classifyField classifies %s", ([, schema, field]) => {
  expect(classifyField(schema, ROOT)).toEqual(field);
});

test("withFieldValue sets and removes members, and returns undefined for an empty object", () => {
  expect(withFieldValue(undefined, "a", 1)).toEqual({ a: 1 });
  expect(withFieldValue({ a: 1, b: 2 }, "a", undefined)).toEqual({ b: 2 });
  expect(withFieldValue({ a: 1 }, "a", undefined)).toBeUndefined();
});
