import { describe, expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../../test/support/caseFiles.ts";
import { type PlannedField, planSchemas } from "./catalogSchema.ts";
import { remapFieldName, sanitizeTypeName, toQueryFieldName } from "./names.ts";
import { SchemaDiscovery } from "./schemaDiscovery.ts";

type Pairs = readonly (readonly [from: string, to: string])[];

interface NameCase extends CaseHead {
  fieldNames?: Pairs;
  typeNames?: Pairs;
  queryFields?: Pairs;
}

interface TypeCase extends CaseHead {
  types: readonly (readonly [key: string, value: unknown, type: string])[];
  nested?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

const cases = loadCases<CaseHead>("graphql");
const isNameCase = (one: CaseHead): one is NameCase => "fieldNames" in one || "typeNames" in one || "queryFields" in one;
const isTypeCase = (one: CaseHead): one is TypeCase => "types" in one;

/** Formats a type in GraphQL notation. */
function typeText({ scalar, list, nested }: PlannedField): string {
  const named = nested?.name ?? scalar;
  return list ? `[${named}]` : named;
}

describe("GraphQL names", () => {
  test.for(cases.filter(isNameCase))("GraphQL names: $name", ({ fieldNames = [], typeNames = [], queryFields = [] }) => {
    expect(fieldNames.map(([key]) => [key, remapFieldName(key)])).toEqual(fieldNames);
    expect(typeNames.map(([schema]) => [schema, sanitizeTypeName(schema)])).toEqual(typeNames);
    expect(queryFields.map(([schema]) => [schema, toQueryFieldName(schema)])).toEqual(queryFields);
  });
});

describe("SchemaDiscovery", () => {
  test.for(cases.filter(isTypeCase))("SchemaDiscovery: $name", ({ types, nested = {} }) => {
    const discovery = new SchemaDiscovery();
    discovery.add("test", Object.fromEntries(types.map(([key, value]) => [key, value])));
    const [schema] = planSchemas(discovery.schemas());
    const fields = new Map(schema!.type.fields.map((field) => [field.keys[0], field]));
    expect(types.map(([key]) => [key, typeText(fields.get(key)!)])).toEqual(types.map(([key, , type]) => [key, type]));
    const found = [...fields.values()].flatMap((field) => (field.nested ? [field.nested] : []));
    const shown = found.map((type) => [type.name, Object.fromEntries(type.fields.map((field) => [field.name, typeText(field)]))]);
    expect(Object.fromEntries(shown)).toEqual(nested);
  });

  test("SchemaDiscovery infers the type of a field from its first value, and changes Int to Float when a later value is not an Int", () => {
    const discovery = new SchemaDiscovery();
    for (const blob of [
      { text: "a", number: 1, list: [{ a: 1 }], late: null },
      { text: 1, number: 2.5, list: [{ a: 2 ** 40, b: true }], late: [1] },
    ])
      discovery.add("s", blob);
    const [{ fields } = { fields: [] }] = discovery.schemas();
    expect(
      fields.map(({ name, scalar, list, nested }) => [name, scalar, list, nested?.map((field) => `${field.name} ${field.scalar}`)]),
    ).toEqual([
      ["late", "String", false, undefined],
      ["list", "String", true, ["a Float", "b Boolean"]],
      ["number", "Float", false, undefined],
      ["text", "String", false, undefined],
    ]);
  });

  test("SchemaDiscovery omits and reports schemas and fields beyond the limits", () => {
    const discovery = new SchemaDiscovery({ schemas: 2, fields: 2, totalFields: 3, nameLength: 5 });
    discovery.add("a", { x: 1, longer: 2, y: 3, z: 4 });
    discovery.add("b", { x: 1, y: 2 });
    discovery.add("c", { x: 1 });
    discovery.add("longer", {});
    expect(discovery.leftOut).toBe(2);
    expect(discovery.schemas().map(({ schema, fields, incomplete }) => [schema, fields.map(({ name }) => name), incomplete])).toEqual([
      ["a", ["x", "y"], true],
      ["b", ["x"], true],
    ]);
  });
});

describe("planSchemas", () => {
  const planOf = (...schemas: string[]): Record<string, [string, string]> => {
    const discovery = new SchemaDiscovery();
    for (const schema of schemas) discovery.add(schema, { schema });
    return Object.fromEntries(planSchemas(discovery.schemas()).map(({ schema, queryField, type }) => [schema, [queryField, type.name]]));
  };

  test("planSchemas numbers colliding names in alphabetical order of schemas", () => {
    const want = { "a-b": ["abs", "AB"], "a.b": ["abs_2", "AB_2"], a_b: ["abs_3", "AB_3"] };
    expect(planOf("a.b", "a_b", "a-b")).toEqual(want);
    expect(planOf("a-b", "a.b", "a_b")).toEqual(want);
  });

  test("planSchemas keeps the names of OLM schemas", () => {
    expect(planOf("OLM.BUNDLE", "olm.bundle", "olm-bundle")["olm.bundle"]).toEqual(["olmbundles", "OlmBundle"]);
  });

  test("planSchemas does not assign names that the server or GraphQL reserve", () => {
    expect(planOf("catalog.summary", "schema.summary", "query", "string", "summary", "_1a", "1a", "mutation")).toEqual({
      "1a": ["field_1as", "A"],
      _1a: ["field_1as_2", "Type_1a"],
      "catalog.summary": ["catalogsummarys", "CatalogSummary_2"],
      mutation: ["mutations", "Mutation_2"],
      query: ["querys", "Query_2"],
      "schema.summary": ["schemasummarys", "SchemaSummary_2"],
      string: ["strings", "String_2"],
      summary: ["summarys", "Summary"],
    });
  });

  test("planSchemas does not give an element type the name of a schema type", () => {
    const discovery = new SchemaDiscovery();
    discovery.add("a", { b: [{ c: 1 }] });
    discovery.add("a.b", { d: 1 });
    const plan = planSchemas(discovery.schemas());
    expect(plan.map(({ type }) => [type.name, type.fields.map(({ nested }) => nested?.name)])).toEqual([
      ["A", ["AB_2"]],
      ["AB", [undefined]],
    ]);
  });

  test("planSchemas merges keys with the same field name and prefers the identical key", () => {
    const discovery = new SchemaDiscovery();
    discovery.add("s", { foo_bar: 1, "foo-bar": 2 });
    discovery.add("s", { fooBar: 3 });
    const [plan] = planSchemas(discovery.schemas());
    expect(plan?.type.fields.map(({ name, keys }) => [name, keys])).toEqual([["fooBar", ["fooBar", "foo-bar", "foo_bar"]]]);
    expect(plan?.remarks).toEqual(['Field fooBar reads the keys "foo_bar", "foo-bar", "fooBar".']);
  });
});
