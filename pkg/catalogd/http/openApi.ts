import * as z from "zod";
import { createJsonDocument, respondWithDocument, type ServedDocument } from "./contentResponse.ts";
import type { ContentRouteDependencies } from "./contentRoutes.ts";
import { PROBLEM_TYPE, ProblemDetails } from "./problem.ts";
import {
  type CatalogRoute,
  type CatalogServer,
  listMethods,
  listPathParameters,
  type MediaTypes,
  type ResponseDescription,
  toOpenApiPath,
} from "./route.ts";

/** A JSON Schema, of which only a few members are used here. */
export type SchemaObject = { readonly [member: string]: unknown };

/** A parameter of an operation. @see OpenAPI 3.1, Parameter Object */
interface OpenApiParameter {
  readonly name: string;
  readonly in: "path" | "query";
  readonly required: boolean;
  readonly description: string;
  readonly schema: SchemaObject;
}

/** Schemas of a body by media type; a body without a schema is text. */
type OpenApiContent = Readonly<Record<string, { readonly schema?: SchemaObject }>>;

/** A response of an operation. @see OpenAPI 3.1, Response Object */
interface OpenApiResponse {
  readonly description: string;
  readonly content?: OpenApiContent;
}

/** A method of a path. @see OpenAPI 3.1, Operation Object */
export interface OpenApiOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly OpenApiParameter[];
  readonly requestBody?: { readonly required: true; readonly content: OpenApiContent };
  readonly responses: Readonly<Record<string, OpenApiResponse>>;
}

/** The used subset of an OpenAPI document. @see https://spec.openapis.org/oas/v3.1.1 */
export interface OpenApiDocument {
  readonly openapi: "3.1.1";
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, SchemaObject>> };
}

const INFO = {
  title: "catalogd",
  version: "v1",
  description:
    "The content of ClusterCatalogs. All endpoints are read-only and need no authentication. " +
    `Errors are problem details (RFC 9457, \`${PROBLEM_TYPE}\`) with a stable \`code\`. Endpoints that the Go implementation also has report them as text ` +
    `unless the \`Accept\` header contains \`${PROBLEM_TYPE}\`.`,
};

/** Responses of all routes. */
const OF_ALL: Readonly<Record<number, string>> = {
  500: "The server could not respond to the request.",
  503: "Too many requests are in progress. Retry after the number of seconds in `Retry-After`.",
};
const OF_CATALOGS: Readonly<Record<number, string>> = {
  400: "The catalog name or the query is invalid.",
  404: "The catalog does not exist.",
  503: "The catalog content is still loading, or too many requests are in progress. Retry after the number of seconds in `Retry-After`.",
};

/**
 * Creates the document that describes the routes: an operation for each method of each route, with
 * the error responses that all operations have.
 * @throws Error if a path has a parameter that its route does not declare.
 */
export function buildOpenApiDocument(routes: readonly CatalogRoute[]): OpenApiDocument {
  const schemas = new Schemas();
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  for (const route of routes) {
    const operations = Object.fromEntries(listMethods(route).map((method) => [method.toLowerCase(), operation(route, method, schemas)]));
    const path = toOpenApiPath(route.url);
    paths[path] = { ...paths[path], ...operations };
  }
  return { openapi: "3.1.1", info: INFO, paths, components: { schemas: schemas.named } };
}

function operation(route: CatalogRoute, method: string, schemas: Schemas): OpenApiOperation {
  const { id, summary, description, body } = route.config.operation;
  const parameters = [...describePathParameters(route, schemas), ...describeQueryParameters(route, schemas)];
  const head = method === "HEAD";
  return {
    operationId: head && listMethods(route).includes("GET") ? `${id}Head` : id,
    summary: head ? `${summary}(headers only)` : summary,
    ...(description ? { description } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body ? { requestBody: { required: true, content: describeContent(body, schemas) } } : {}),
    responses: describeResponses(route, head, schemas),
  };
}

function describePathParameters({ url, schema }: CatalogRoute, schemas: Schemas): OpenApiParameter[] {
  const path = toOpenApiPath(url);
  const params = schema?.params;
  const declared: Readonly<Record<string, z.core.$ZodType>> = params instanceof z.ZodObject ? params.shape : {};
  return listPathParameters(path).map((name) => {
    const own = Object.hasOwn(declared, name) ? declared[name] : undefined;
    if (!own) throw new Error(`${path}: the parameter ${name} is not declared`);
    return { name, in: "path", required: true, ...splitDescription(schemas.of(own)) };
  });
}

function describeQueryParameters({ schema }: CatalogRoute, schemas: Schemas): OpenApiParameter[] {
  const querystring = schema?.querystring;
  if (!(querystring instanceof z.ZodObject)) return [];
  const { properties = {}, required = [] } = schemas.of(querystring) as { properties?: Record<string, SchemaObject>; required?: string[] };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: "query",
    required: required.includes(name) && schema["default"] === undefined,
    ...splitDescription(schema),
  }));
}

function splitDescription({ description, ...schema }: SchemaObject): { description: string; schema: SchemaObject } {
  return { description: typeof description === "string" ? description : "", schema };
}

function describeResponses({ url, schema, config }: CatalogRoute, head: boolean, schemas: Schemas): Record<string, OpenApiResponse> {
  const { responses } = config.operation;
  const failures: MediaTypes = { ...(config.failures === "text" ? { "text/plain": undefined } : {}), [PROBLEM_TYPE]: ProblemDetails };
  const known: Record<number, ResponseDescription> = {};
  const ofAll = listPathParameters(toOpenApiPath(url)).includes("catalog") ? { ...OF_ALL, ...OF_CATALOGS } : OF_ALL;
  for (const [status, description] of Object.entries(ofAll)) known[Number(status)] = { description };
  if (schema?.querystring) known[400] ??= { description: "The query is invalid." };
  return Object.fromEntries(
    Object.entries({ ...known, ...responses }).map(([status, { description, content }]) => {
      const types = content ?? (Number(status) >= 400 ? failures : undefined);
      return [status, { description, ...(types && !head ? { content: describeContent(types, schemas) } : {}) }];
    }),
  );
}

function describeContent(types: MediaTypes, schemas: Schemas): OpenApiContent {
  return Object.fromEntries(Object.entries(types).map(([type, schema]) => [type, schema ? { schema: schemas.of(schema) } : {}]));
}

/** JSON Schemas. A schema with an id is stored once under this id. */
class Schemas {
  readonly named: Record<string, SchemaObject> = {};

  of(schema: z.core.$ZodType): SchemaObject {
    const { $schema: _, $defs = {}, ...own } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
    for (const [name, definition] of Object.entries($defs)) this.named[name] = moveReferences(definition);
    return moveReferences(own);
  }
}

/** Returns the schema, with references to the components of the document. */
function moveReferences(schema: SchemaObject): SchemaObject {
  const text = JSON.stringify(schema);
  return JSON.parse(text.replaceAll('"$ref":"#/$defs/', '"$ref":"#/components/schemas/')) as SchemaObject;
}

/**
 * Registers the endpoint that returns the document for `routes`. The document is created on the
 * first request, so that it includes routes that are registered later.
 */
export function registerOpenApiRoute(
  server: CatalogServer,
  routes: readonly CatalogRoute[],
  { cache }: Pick<ContentRouteDependencies, "cache">,
): void {
  let document: ServedDocument | undefined;
  server.route({
    method: ["GET", "HEAD"],
    url: "/openapi.json",
    config: {
      failures: "problem",
      operation: {
        id: "getOpenApi",
        summary: "This API as an OpenAPI document",
        responses: {
          200: { description: "The document.", content: { "application/json": z.looseObject({}) } },
          304: { description: "The document has not changed." },
        },
      },
    },
    handler: async (request, reply) => {
      document ??= createJsonDocument(buildOpenApiDocument(routes));
      await reply.respond(await respondWithDocument(document, request, cache));
    },
  });
}
