import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { FastifyBaseLogger, FastifyInstance, FastifySchema, RouteOptions } from "fastify";
import * as z from "zod";
import { validateSubdomain } from "../../api/names.ts";
import type { ZodTypeProvider } from "./queryParameters.ts";

/** A fastify server whose routes have zod schemas. */
export type CatalogServer = FastifyInstance<Server, IncomingMessage, ServerResponse, FastifyBaseLogger, ZodTypeProvider>;

/**
 * The schema of a body by media type; undefined unless the body is JSON. Set an id in a shared
 * schema: `.meta({ id: "Package" })`.
 */
export type MediaTypes = Readonly<Record<string, z.core.$ZodType | undefined>>;

/** A response of an endpoint for one status. */
export interface ResponseDescription {
  readonly description: string;
  readonly content?: MediaTypes;
}

/**
 * A readable description of an endpoint, from which the OpenAPI document and the reference are
 * generated.
 */
export interface Operation {
  /** Unique, in camel case: `listPackages`. */
  readonly id: string;
  /** One line, without a full stop. */
  readonly summary: string;
  /** Markdown. */
  readonly description?: string;
  readonly body?: MediaTypes;
  /** Responses by status. The statuses that every route has (304, 404 for a catalog, 405, 5xx) are added. */
  readonly responses: Readonly<Record<number, ResponseDescription>>;
}

declare module "fastify" {
  interface FastifyContextConfig {
    /**
     * Format of errors: problem details, or text as in the Go server unless the client requests
     * problem details.
     */
    readonly failures?: "problem" | "text";
    readonly operation?: Operation;
  }
}

/**
 * The parts of a registered endpoint from which its description is generated. `schema.params` and
 * `schema.querystring` are the zod schemas of its path and query.
 */
export type CatalogRoute = Pick<RouteOptions, "method" | "url"> & {
  readonly schema: FastifySchema | undefined;
  readonly config: { readonly failures: "problem" | "text"; readonly operation: Operation };
};

/** The parameter `{catalog}` of a path. */
export const CatalogName = z
  .string()
  .superRefine((name, context) => {
    for (const message of validateSubdomain(name)) context.addIssue({ code: "custom", message });
  })
  .meta({ description: "ClusterCatalog name", maxLength: 253 });

/** The path parameters of an endpoint of one catalog. */
export const CatalogPath = z.object({ catalog: CatalogName });

/**
 * Returns the path of a route in the format of documents and metrics, with parameters in braces:
 * `/catalogs/{catalog}/api/v1/all`.
 */
export function toOpenApiPath(url: string): string {
  return url.replace(/:(\w+)/g, "{$1}");
}

/** Returns the names of the parameters in a path with braces, in order. */
export function listPathParameters(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
}

/** Returns the methods of a route. */
export function listMethods({ method }: Pick<RouteOptions, "method">): string[] {
  return [method].flat();
}
