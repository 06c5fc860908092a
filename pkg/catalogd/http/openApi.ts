import * as z from "zod";
import type { AnswerCache } from "./answerCache.ts";
import { documentAnswer, jsonDocument, type ServedDocument } from "./contentResponse.ts";
import { asked } from "./contentRoutes.ts";
import { PROBLEM_TYPE, ProblemDetails } from "./response.ts";
import { type MediaTypes, type Operation, pathParameters, type ResponseDescription, type Route, type RouteMethod } from "./route.ts";

/** A JSON Schema, of which the document needs to know little. */
export type JsonSchema = { readonly [member: string]: unknown };

/** A parameter of an operation. @see OpenAPI 3.1, Parameter Object */
export interface OpenApiParameter {
  readonly name: string;
  readonly in: "path" | "query";
  readonly required: boolean;
  readonly description: string;
  readonly schema: JsonSchema;
}

/** Schemas of a body by media type; one without a schema is text. */
export type OpenApiContent = Readonly<Record<string, { readonly schema?: JsonSchema }>>;

/** An answer of an operation. @see OpenAPI 3.1, Response Object */
export interface OpenApiResponse {
  readonly description: string;
  readonly content?: OpenApiContent;
}

/** What one method of one path does. @see OpenAPI 3.1, Operation Object */
export interface OpenApiOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly OpenApiParameter[];
  readonly requestBody?: { readonly required: true; readonly content: OpenApiContent };
  readonly responses: Readonly<Record<string, OpenApiResponse>>;
}

/** An OpenAPI document, as far as it is used here. @see https://spec.openapis.org/oas/v3.1.1 */
export interface OpenApiDocument {
  readonly openapi: "3.1.1";
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}

const INFO = {
  title: "catalogd",
  version: "v1",
  description:
    "The content of ClusterCatalogs. Everything is read only and needs no authentication. " +
    `Failures are problem details (RFC 9457, \`${PROBLEM_TYPE}\`) with a stable \`code\`; the endpoints that the Go implementation has as well tell them as text, ` +
    `unless \`Accept\` names \`${PROBLEM_TYPE}\`.`,
};

/** What all routes take and answer. */
const CATALOG_NAME = z.string().max(253).describe("name of the ClusterCatalog");
const OF_ALL: Readonly<Record<number, string>> = {
  500: "The request could not be answered.",
  503: "Too many requests are being answered: try again after the seconds in `Retry-After`.",
};
const OF_CATALOGS: Readonly<Record<number, string>> = {
  400: "The name cannot be that of a catalog, or the query is wrong.",
  404: "There is no such catalog.",
  503: "The content is not loaded here yet, or too many requests are being answered: try again after the seconds in `Retry-After`.",
};

/**
 * The document that describes the routes: an operation for each method of each, with the failures that all of them have.
 * @throws Error when a path has a parameter that its route does not declare.
 */
export function openApiDocument(routes: readonly Route[]): OpenApiDocument {
  const schemas = new Schemas();
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  for (const route of routes) {
    const operations = Object.fromEntries(route.methods.map((method) => [method.toLowerCase(), operation(route, method, schemas)]));
    paths[route.path] = { ...paths[route.path], ...operations };
  }
  return { openapi: "3.1.1", info: INFO, paths, components: { schemas: schemas.named } };
}

function operation(route: Route, method: RouteMethod, schemas: Schemas): OpenApiOperation {
  const { id, summary, description, body } = route.operation;
  const parameters = [...pathParametersOf(route, schemas), ...queryParametersOf(route.operation, schemas)];
  const head = method === "HEAD";
  return {
    operationId: head && route.methods.includes("GET") ? `${id}Head` : id,
    summary: head ? `${summary}: the headers alone` : summary,
    ...(description ? { description } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body ? { requestBody: { required: true, content: contentOf(body, schemas) } } : {}),
    responses: responsesOf(route, head, schemas),
  };
}

function pathParametersOf({ path, operation: { params = {} } }: Route, schemas: Schemas): OpenApiParameter[] {
  return pathParameters(path).map((name) => {
    const schema = Object.hasOwn(params, name) ? params[name] : name === "catalog" ? CATALOG_NAME : undefined;
    if (!schema) throw new Error(`${path}: the parameter ${name} is not declared`);
    return { name, in: "path", required: true, ...described(schemas.of(schema)) };
  });
}

function queryParametersOf({ query }: Operation, schemas: Schemas): OpenApiParameter[] {
  if (!query) return [];
  const { properties = {}, required = [] } = schemas.of(query) as { properties?: Record<string, JsonSchema>; required?: string[] };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: "query",
    required: required.includes(name) && schema["default"] === undefined,
    ...described(schema),
  }));
}

function described({ description, ...schema }: JsonSchema): { description: string; schema: JsonSchema } {
  return { description: typeof description === "string" ? description : "", schema };
}

function responsesOf(route: Route, head: boolean, schemas: Schemas): Record<string, OpenApiResponse> {
  const { responses } = route.operation;
  const failures: MediaTypes = { ...(route.failures === "text" ? { "text/plain": undefined } : {}), [PROBLEM_TYPE]: ProblemDetails };
  const known: Record<number, ResponseDescription> = {};
  for (const [status, description] of Object.entries({ ...OF_ALL, ...(pathParameters(route.path).includes("catalog") ? OF_CATALOGS : {}) }))
    known[Number(status)] = { description };
  if (route.operation.query) known[400] ??= { description: "The query is wrong." };
  return Object.fromEntries(
    Object.entries({ ...known, ...responses }).map(([status, { description, content }]) => {
      const types = content ?? (Number(status) >= 400 ? failures : undefined);
      return [status, { description, ...(types && !head ? { content: contentOf(types, schemas) } : {}) }];
    }),
  );
}

function contentOf(types: MediaTypes, schemas: Schemas): OpenApiContent {
  return Object.fromEntries(Object.entries(types).map(([type, schema]) => [type, schema ? { schema: schemas.of(schema) } : {}]));
}

/** Schemas in the form of JSON; those with an id stand once, by that name. */
class Schemas {
  readonly named: Record<string, JsonSchema> = {};

  of(schema: z.ZodType): JsonSchema {
    const { $schema: _, $defs = {}, ...own } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
    for (const [name, definition] of Object.entries($defs)) this.named[name] = moved(definition);
    return moved(own);
  }
}

/** With references that lead to the document's components. */
function moved(schema: JsonSchema): JsonSchema {
  const text = JSON.stringify(schema);
  return JSON.parse(text.replaceAll('"$ref":"#/$defs/', '"$ref":"#/components/schemas/')) as JsonSchema;
}

/** The endpoint of the document that describes `routes` and itself. */
export function openApiRoute(routes: readonly Route[], cache: AnswerCache): Route {
  let document: ServedDocument | undefined;
  const route: Route = {
    path: "/openapi.json",
    methods: ["GET", "HEAD"],
    failures: "problem",
    operation: {
      id: "getOpenApi",
      summary: "This API as an OpenAPI document",
      responses: {
        200: { description: "The document.", content: { "application/json": z.looseObject({}) } },
        304: { description: "It is the one that the client knows." },
      },
    },
    answer: (request) => {
      document ??= jsonDocument(openApiDocument([...routes, route]));
      return documentAnswer(document, asked(request), cache);
    },
  };
  return route;
}
