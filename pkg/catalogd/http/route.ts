import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import type * as z from "zod";
import { type Answer, NO_BODY, textAnswer } from "./response.ts";

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

/** The answer to a request that no route takes. @param samePath routes of its path, for other methods. */
export function otherAnswer(samePath: readonly Route[]): Answer {
  if (samePath.length === 0)
    return textAnswer(
      404,
      "404 page not found",
      {},
      { code: "PathNotFound", detail: "nothing is served at this path; /openapi.json tells what is" },
    );
  const methods = samePath.flatMap((route) => route.methods).join(", ");
  // The Go server does not tell it.
  const allow = samePath.every(({ failures }) => failures === "problem") ? { allow: methods } : {};
  return textAnswer(405, "Method Not Allowed", allow, { code: "MethodNotAllowed", detail: `this path is served to ${methods}` });
}

/** The answer that leads to the clean form of a path. */
export function redirect(method: string | undefined, location: string): Answer {
  if (method !== "GET" && method !== "HEAD") return { status: 307, headers: { location, "content-length": 0 }, body: NO_BODY };
  const target = location
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&#34;")
    .replaceAll("'", "&#39;");
  const bytes = Buffer.from(`<a href="${target}">Temporary Redirect</a>.\n\n`);
  const headers = { location, "content-type": "text/html; charset=utf-8", "content-length": bytes.length };
  return { status: 307, headers, body: { kind: "bytes", bytes } };
}
