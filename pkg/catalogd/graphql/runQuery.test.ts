import * as fc from "fast-check";
import {
  buildClientSchema,
  type GraphQLNamedType,
  type GraphQLOutputType,
  getIntrospectionQuery,
  isListType,
  isObjectType,
  validateSchema,
} from "graphql";
import { describe, expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../../test/support/caseFiles.ts";
import { graphqlCatalog } from "../../../test/support/graphqlCatalog.ts";
import type { JsonObject } from "../../api/k8s.ts";
import { QUERY_LIMITS, type QueryLimits } from "./queryContext.ts";
import { runQuery } from "./runQuery.ts";

interface ComplexityCase extends CaseHead {
  query?: string;
  repeat?: [before: string, times: number, after: string];
  innermost?: string;
  within?: [before: string, each: string, times: number, after: string];
  error?: string;
}

interface QueryCase extends CaseHead {
  metas?: JsonObject[] | "sample";
  discovered?: JsonObject[];
  count?: number;
  query: string;
  operationName?: string;
  variables?: Record<string, unknown>;
  answer?: unknown;
  text?: string;
  lengths?: Record<string, number>;
}

const cases = loadCases<CaseHead>("graphql");
const isQueryCase = (one: CaseHead): one is QueryCase => "metas" in one || "count" in one;
const sample = cases.filter(isQueryCase).find(({ metas }) => Array.isArray(metas))?.metas as JsonObject[];
const isComplexityCase = (one: CaseHead): one is ComplexityCase =>
  !isQueryCase(one) && ("query" in one || "repeat" in one || "within" in one);

function queryOf({ query, repeat, innermost = "", within }: ComplexityCase): string {
  if (repeat) return repeat[0].repeat(repeat[1]) + innermost + repeat[2].repeat(repeat[1]);
  if (within) return within[0] + Array.from({ length: within[2] }, (_, i) => within[1].replace("%", String(i))).join("") + within[3];
  return query ?? "";
}

describe("limits of a query", () => {
  test.for(cases.filter(isComplexityCase))("runQuery: $name", async (one) => {
    const text = await runQuery({ query: queryOf(one) }, () => undefined);
    const refusal = one.error === undefined ? undefined : { data: null, errors: [{ message: one.error, locations: [] }] };
    expect(text === undefined ? undefined : JSON.parse(text)).toEqual(refusal);
  });

  const many = graphqlCatalog(Array.from({ length: 100 }, (_, i) => ({ schema: "a", i, text: "x".repeat(1_000) })));
  const only = async (limits: Partial<QueryLimits>, query: string, stopped = false): Promise<unknown> =>
    JSON.parse((await runQuery({ query }, () => many, { limits: { ...QUERY_LIMITS, ...limits }, stopped: () => stopped })) ?? "null");
  const failure = (message: string): unknown => ({ data: null, errors: [{ message, locations: [] }] });

  test.for([
    [
      { responseBytes: 50_000 },
      "{ as { text } }",
      "query response exceeds 50000 bytes. Request fewer fields, or fewer objects with the argument limit",
    ],
    [
      { responseBytes: 2_000 },
      "{ __schema { types { name description } } }",
      "query response exceeds 2000 bytes. Request fewer fields, or fewer objects with the argument limit",
    ],
    [{ readBytes: 50 }, "{ as { i } }", "query reads more than 50 bytes of objects. Request fewer objects with the argument limit"],
    [{ milliseconds: -1 }, "{ as { i } }", "context deadline exceeded"],
  ] as [Partial<QueryLimits>, string, string][])("runQuery with limits %j fails for query %s", async ([limits, query, message]) => {
    await expect(only(limits, query)).resolves.toEqual(failure(message));
  });

  test("a query ends when its client disconnects", async () => {
    await expect(only({}, "{ as { i } }", true)).resolves.toEqual(failure("context canceled"));
  });

  test("runQuery returns null and an error for a list with an object that is too large", async () => {
    await expect(only({ objectBytes: 0 }, "{ as(limit: 1) { i } summary { totalSchemas } }")).resolves.toEqual({
      data: { as: null, summary: { totalSchemas: 1 } },
      errors: [
        {
          message: "error loading objects for schema a: invalid section length 1 at offset 0",
          locations: [{ line: 1, column: 3 }],
          path: ["as"],
        },
      ],
    });
  });

  test("runQuery skips lines that are not JSON objects", async () => {
    const { schema, objects } = graphqlCatalog([{ schema: "a", name: "1" }]);
    const lines = ["broken", '{"name":"x"}', "[]", "null"];
    const source = {
      ...objects,
      find: () => Promise.resolve(lines.map((_, start) => ({ start, end: start + 1 }))),
      read: ({ start }: { start: number }) => Buffer.from(lines[start]!),
    };
    await expect(runQuery({ query: "{ as { name } }" }, () => ({ schema, objects: source }))).resolves.toBe(
      '{"data":{"as":[{"name":"x"}]}}\n',
    );
  });
});

describe("queries", () => {
  test.for(cases.filter(isQueryCase))(
    "runQuery: $name",
    async ({ metas, discovered, count = 0, query, operationName, variables, answer: response, text, lengths }) => {
      const blobs = metas === "sample" ? sample : (metas ?? Array.from({ length: count }, (_, i) => ({ schema: "many", i })));
      const got = await runQuery({ query, operationName, variables }, () => graphqlCatalog(blobs, discovered ?? blobs));
      expect(got?.endsWith("}\n")).toBe(true);
      if (text !== undefined) expect(got).toBe(`${text}\n`);
      if (response !== undefined) expect(JSON.parse(got!)).toEqual(response);
      if (lengths) {
        const { data } = JSON.parse(got!) as { data: Record<string, unknown[]> };
        expect(Object.fromEntries(Object.entries(data).map(([name, list]) => [name, list.length]))).toEqual(lengths);
      }
    },
  );

  test("the standard introspection query returns the schema", async () => {
    const catalog = graphqlCatalog([{ schema: "olm.bundle", name: "a", properties: [{ type: "t", value: {} }] }]);
    for (const query of [
      getIntrospectionQuery(),
      getIntrospectionQuery({ oneOf: true, specifiedByUrl: true, schemaDescription: true, inputValueDeprecation: true }),
    ]) {
      const { data, errors } = JSON.parse((await runQuery({ query }, () => catalog))!) as { data: never; errors: unknown };
      expect(errors).toBeUndefined();
      const client = buildClientSchema(data);
      expect(validateSchema(client)).toEqual([]);
      const args = client.getQueryType()?.getFields()["olmbundles"]?.args ?? [];
      expect(args.map(({ name, type }) => `${name}: ${String(type)}`)).toEqual([
        "limit: Int",
        "offset: Int",
        "name: String",
        "package: String",
      ]);
    }
  });
});

describe("any catalog", () => {
  const name = fc.oneof(
    fc.string({ maxLength: 8 }),
    fc.string({ unit: "binary", maxLength: 8 }),
    fc.constantFrom("__proto__", "constructor", "query", "Query", "a.b", "a-b", "A_B", "1a", "__typename", "string", "toString"),
    fc.stringMatching(/^[a-zA-Z0-9_.\-/@]{0,10}$/),
  );
  const value = fc.jsonValue({ maxDepth: 4 });
  const blob = fc.tuple(fc.dictionary(name, value, { maxKeys: 6 }), name).map(([members, schema]): JsonObject => {
    const kept = Object.entries(members).filter(([key]) => !["schema", "package", "name"].includes(key.toLowerCase()));
    return Object.fromEntries([...kept, ["schema", schema]]) as JsonObject;
  });

  test("GraphQL schema of any catalog is valid, and its fields can be queried", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(blob, { maxLength: 8 }), async (blobs) => {
        const catalog = graphqlCatalog(blobs);
        expect(validateSchema(catalog.schema)).toEqual([]);
        const { schema } = catalog;
        const fields = Object.values(schema.getQueryType()!.getFields());
        expect(fields).toHaveLength(new Set(blobs.map((one) => one["schema"]).filter((one) => one !== "")).size + 1);
        const query = `{ ${fields.map((field) => field.name + selectionOf(field.type)).join(" ")} }`;
        const { data, errors } = JSON.parse((await runQuery({ query }, () => catalog))!) as {
          data: Record<string, unknown>;
          errors: unknown;
        };
        expect(errors).toBeUndefined();
        const counted = Object.values(data).filter(Array.isArray).flat().length;
        expect(counted).toBe(blobs.filter((one) => one["schema"] !== "").length);
      }),
      { numRuns: 200 },
    );
  });

  test("field names of the GraphQL schema do not depend on the order of the catalog's objects", () => {
    fc.assert(
      fc.property(fc.array(blob, { maxLength: 8 }), (blobs) => {
        const names = (order: readonly JsonObject[]): string[] => Object.keys(graphqlCatalog(order).schema.getQueryType()!.getFields());
        expect(names(blobs.toReversed())).toEqual(names(blobs));
      }),
    );
  });

  function selectionOf(type: GraphQLOutputType): string {
    let named: GraphQLOutputType | GraphQLNamedType = type;
    while (isListType(named)) named = named.ofType;
    if (!isObjectType(named)) return "";
    return ` { ${Object.values(named.getFields())
      .map((field) => field.name + selectionOf(field.type))
      .join(" ")} }`;
  }
});
