import { expect, test } from "vitest";
import * as z from "zod";
import { QueryThreads } from "../graphql/queryThreads.ts";
import { createCatalogRoutes } from "./catalogRoutes.ts";
import { buildOpenApiDocument, type SchemaObject } from "./openApi.ts";
import { ResponseCache } from "./responseCache.ts";
import { type CatalogRoute, listMethods, listPathParameters, type Operation, toOpenApiPath } from "./route.ts";

const routes = createCatalogRoutes({
  source: { get: () => undefined, catalogs: () => [] },
  cache: new ResponseCache(),
  graphs: new QueryThreads(),
});
const document = buildOpenApiDocument(routes);

test("OpenAPI document contains every route with each of its methods", () => {
  const expected = routes.flatMap((route) => listMethods(route).map((method) => `${method} ${toOpenApiPath(route.url)}`));
  const found = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(found.toSorted()).toEqual(expected.toSorted());
  expect(new Set(expected).size).toBe(expected.length);
});

test("OpenAPI document has unique operation ids", () => {
  const ids = Object.values(document.paths).flatMap((operations) => Object.values(operations).map(({ operationId }) => operationId));
  expect(new Set(ids).size).toBe(ids.length);
});

test("OpenAPI document declares the parameters of paths and describes every parameter", () => {
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const { parameters = [], summary, responses } of Object.values(operations)) {
      const inPath = parameters.filter((parameter) => parameter.in === "path");
      expect(inPath.map(({ name }) => name)).toEqual(listPathParameters(path));
      for (const { name, required, description, schema } of parameters) {
        expect(description, `${path}: ${name}`).not.toBe("");
        expect(Object.keys(schema), `${path}: ${name}`).not.toHaveLength(0);
        expect(required || !inPath.some((parameter) => parameter.name === name)).toBe(true);
      }
      expect(summary).toMatch(/^[A-Z].*[^.]$/);
      expect(Object.keys(responses)).toContain("200");
    }
  }
});

test("OpenAPI document contains all referenced schemas", () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, target = ""]) => target);
  expect(references.length).toBeGreaterThan(0);
  for (const target of references) {
    const name = /^#\/components\/schemas\/(\w+)$/.exec(target)?.[1] ?? "";
    expect(document.components.schemas, target).toHaveProperty([name]);
  }
  expect(JSON.stringify(document)).not.toContain("$defs");
});

test("OpenAPI document describes the fields of responses", () => {
  const check = (at: string, schema: SchemaObject): void => {
    const { properties = {}, items } = schema as { properties?: Record<string, SchemaObject>; items?: SchemaObject };
    for (const [name, member] of Object.entries(properties)) {
      if (member["$ref"] === undefined) expect(member["description"], `${at}.${name}`).toBeTypeOf("string");
      check(`${at}.${name}`, member);
    }
    if (items) check(`${at}[]`, items);
  };
  for (const [name, schema] of Object.entries(document.components.schemas)) check(name, schema);
});

interface Described {
  readonly schema?: CatalogRoute["schema"];
  readonly operation?: Partial<Operation>;
  readonly failures?: "problem" | "text";
}

/** Returns a route for tests of its description. */
function described(url: string, { schema, operation, failures = "problem" }: Described = {}): CatalogRoute {
  const full = { id: "x", summary: "X", responses: { 200: { description: "It." } }, ...operation };
  return { url, method: ["GET", "HEAD"], schema, config: { failures, operation: full } };
}

test("buildOpenApiDocument throws for a route with an undeclared path parameter", () => {
  expect(() => buildOpenApiDocument([described("/a/:b")])).toThrow("/a/{b}: the parameter b is not declared");
});

test("OpenAPI document contains the limits, defaults and descriptions of parameters", () => {
  const Thing = z.object({ name: z.string().describe("its name") }).meta({ id: "Thing" });
  const querystring = z.strictObject({
    limit: z.coerce.number().int().min(1).max(10).default(5).describe("how many"),
    word: z.string().describe("which"),
  });
  const { paths, components } = buildOpenApiDocument([
    described("/a/:b", {
      schema: { querystring, params: z.object({ b: z.string().max(3).describe("b") }) },
      operation: { responses: { 200: { description: "Things.", content: { "application/json": z.array(Thing) } } } },
    }),
  ]);
  const get = paths["/a/{b}"]?.["get"];
  expect(get?.parameters).toEqual([
    { name: "b", in: "path", required: true, description: "b", schema: { type: "string", maxLength: 3 } },
    {
      name: "limit",
      in: "query",
      required: false,
      description: "how many",
      schema: { type: "integer", minimum: 1, maximum: 10, default: 5 },
    },
    { name: "word", in: "query", required: true, description: "which", schema: { type: "string" } },
  ]);
  expect(get?.responses["200"]?.content).toEqual({
    "application/json": { schema: { type: "array", items: { $ref: "#/components/schemas/Thing" } } },
  });
  expect(components.schemas["Thing"]).toMatchObject({ type: "object", properties: { name: { type: "string" } }, required: ["name"] });
  expect(Object.keys(get?.responses["400"]?.content ?? {})).toEqual(["application/problem+json"]);
  expect(paths["/a/{b}"]?.["head"]).toMatchObject({ operationId: "xHead", responses: { 200: { description: "Things." } } });
});

test("OpenAPI document also lists problem details for routes that report failures as text", () => {
  const { paths } = buildOpenApiDocument([described("/a", { failures: "text" })]);
  expect(Object.keys(paths["/a"]?.["get"]?.responses["500"]?.content ?? {})).toEqual(["text/plain", "application/problem+json"]);
});
