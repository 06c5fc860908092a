import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import type * as z from "zod";
import type { Answer } from "./answer.ts";

/** Methods that some route takes. */
export type RouteMethod = "GET" | "HEAD" | "POST";

/** What an endpoint gets to see of a request. */
export interface RouteRequest {
  readonly method: RouteMethod;
  /** As it was sent. */
  readonly url: string;
  /** Values of the path's parameters, unescaped. */
  readonly params: Readonly<Record<string, string>>;
  /** What stands behind the `?`, as it was sent. */
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  /** Unread. */
  readonly body: Readable;
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal;
}

/** An answer and what has to be let go of when it has been sent. */
export interface Prepared {
  readonly answer: Answer;
  readonly release: () => void;
}

/** A body by media type; the schema where it is JSON. Give a schema that several share an id: `.meta({ id: "Package" })`. */
export type MediaTypes = Readonly<Record<string, z.ZodType | undefined>>;

/** One status that an endpoint answers with. */
export interface ResponseDescription {
  readonly description: string;
  readonly content?: MediaTypes;
}

/** What an endpoint does, for people: the OpenAPI document and the reference are made of it. */
export interface Operation {
  /** Unique, in camel case: `listPackages`. */
  readonly id: string;
  /** One line, without a full stop. */
  readonly summary: string;
  /** Markdown. */
  readonly description?: string;
  /** The path's parameters by name; that of `{catalog}` is known. */
  readonly params?: Readonly<Record<string, z.ZodType>>;
  /** The query's parameters, each with a description. @see routeWithQuery */
  readonly query?: z.ZodObject;
  readonly body?: MediaTypes;
  /** By status. Those that every route has (304, 404 of a catalog, 405, 5xx) are added. */
  readonly responses: Readonly<Record<number, ResponseDescription>>;
}

/** One endpoint of the content server. */
export interface Route {
  /** With parameters in braces: `/catalogs/{catalog}/api/v1/all`. */
  readonly path: string;
  readonly methods: readonly RouteMethod[];
  readonly operation: Operation;
  /** How failures are told: as problem details, or as the Go server does (which has the route) unless the client asks for problem details. */
  readonly failures: "problem" | "text";
  readonly answer: (request: RouteRequest) => Answer | Prepared | Promise<Answer | Prepared>;
}

/** The path as fastify writes it. */
export function fastifyPath(path: string): string {
  return path.replace(/\{(\w+)\}/g, ":$1");
}

/** Names of the parameters in a path, in order. */
export function pathParameters(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
}
