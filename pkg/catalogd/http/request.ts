import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import * as z from "zod";
import type { MetaQuery } from "../store/contentIndex.ts";
import { type Answer, problemAnswer } from "./response.ts";
import type { Operation, Prepared, Route, RouteMethod, RouteRequest } from "./route.ts";

const GONE = new Error("the client is gone");

/** A request as its route sees it. The signal is made when it is asked for: most answers are there before a client can leave. */
export class AskedRequest implements RouteRequest {
  readonly method: RouteMethod;
  readonly url: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: IncomingMessage;
  readonly #response: ServerResponse;
  #signal: AbortSignal | undefined;

  constructor(request: IncomingMessage, response: ServerResponse, target: Pick<RouteRequest, "method" | "url" | "params" | "query">) {
    this.method = target.method;
    this.url = target.url;
    this.params = target.params;
    this.query = target.query;
    this.headers = request.headers;
    this.body = request;
    this.#response = response;
  }

  get signal(): AbortSignal {
    this.#signal ??= goneSignal(this.#response);
    return this.#signal;
  }
}

/** Aborts when the client is gone. */
export function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  const leave = (): void => gone.abort(GONE); // without a reason every answer would make an exception with its stack
  if (response.destroyed) leave();
  else response.once("close", leave);
  return gone.signal;
}

/** Path and query of a request, as they were sent. */
export interface RequestTarget {
  readonly path: string;
  /** Without its `?`. */
  readonly query: string;
}

/** The parts of a request line's target; of a whole URL, as a proxy gets it, those after the host. */
export function requestTarget(url: string): RequestTarget {
  const local = url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?#]*/i, "");
  const mark = local.indexOf("?");
  return mark < 0 ? { path: local, query: "" } : { path: local.slice(0, mark), query: local.slice(mark + 1) };
}

/** The path without empty, `.` and `..` segments, as Go's mux cleans it; a slash at the end stays. */
export function cleanPath(path: string): string {
  if (!path.startsWith("/") || !(path.includes("//") || path.includes("/."))) return path;
  const segments: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "..") segments.pop();
    else if (segment !== "" && segment !== ".") segments.push(segment);
  }
  const slash = segments.length > 0 && path.endsWith("/") ? "/" : "";
  return `/${segments.join("/")}${slash}`;
}

/** Name and value of each piece of a query string (without its `?`), unescaped, in order; undefined when it has a broken escape or a semicolon. */
function queryPieces(query: string): [name: string, value: string][] | undefined {
  const pieces: [string, string][] = [];
  for (const piece of query.split("&")) {
    if (piece === "") continue;
    if (piece.includes(";")) return undefined;
    const equals = piece.indexOf("=");
    const name = unescaped(equals < 0 ? piece : piece.slice(0, equals));
    const value = unescaped(equals < 0 ? "" : piece.slice(equals + 1));
    if (name === undefined || value === undefined) return undefined;
    pieces.push([name, value]);
  }
  return pieces;
}

function unescaped(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

/** Of those that are told; and of the characters of a name. */
const MAX_ISSUES = 5;
const MAX_NAME = 64;

/** A route whose query is checked by a schema; `answer` gets the values. */
export interface QueryRoute<Query extends z.ZodObject> extends Omit<Route, "answer" | "operation"> {
  readonly operation: Omit<Operation, "query">;
  readonly answer: (request: RouteRequest, query: z.output<Query>) => Answer | Prepared | Promise<Answer | Prepared>;
}

/**
 * A route that answers 400 with what is wrong with each parameter before anything else is looked at. Use `z.strictObject`, so that unknown parameters
 * are refused; `z.coerce.number()` for numbers; `z.array()` for what may be repeated (one value is a list of one).
 */
export function routeWithQuery<Query extends z.ZodObject>(query: Query, route: QueryRoute<Query>): Route {
  return {
    ...route,
    operation: { ...route.operation, query },
    answer: (request) => {
      const parsed = parseQuery(query, request.query);
      return parsed.ok ? route.answer(request, parsed.values) : problemAnswer("InvalidQuery", parsed.problem);
    },
  };
}

/** The values of a query, or what is wrong with it in one line. */
export type ParsedQuery<T> = { readonly ok: true; readonly values: T } | { readonly ok: false; readonly problem: string };

/** Reads a query string (without its `?`) by a schema. A name that stands twice is refused unless the schema has a list there. */
export function parseQuery<Query extends z.ZodObject>(schema: Query, query: string): ParsedQuery<z.output<Query>> {
  const pieces = queryPieces(query);
  if (!pieces) return refused("the query string has a broken escape or a semicolon; escape what is neither letter nor digit");
  const found = new Map<string, string[]>();
  for (const [name, value] of pieces) found.set(name, [...(found.get(name) ?? []), value]);
  const given = new Map<string, string | string[]>();
  for (const [name, values] of found) {
    const [only = ""] = values;
    if (takesList(schema, name)) given.set(name, values);
    else if (values.length === 1) given.set(name, only);
    else return refused(`${shown(name)} is given ${values.length} times; give it once`);
  }
  const parsed = schema.safeParse(Object.fromEntries(given));
  return parsed.success ? { ok: true, values: parsed.data } : refused(issuesOf(parsed.error, Object.keys(schema.shape)));
}

function refused<T>(problem: string): ParsedQuery<T> {
  return { ok: false, problem };
}

/** Whether a parameter is a list, under whatever makes it optional. */
function takesList(schema: z.ZodObject, name: string): boolean {
  let type: unknown = Object.hasOwn(schema.shape, name) ? schema.shape[name] : undefined;
  while (type instanceof z.ZodOptional || type instanceof z.ZodDefault || type instanceof z.ZodPipe)
    type = type instanceof z.ZodPipe ? type.in : type.unwrap();
  return type instanceof z.ZodArray;
}

function issuesOf({ issues }: z.ZodError, known: readonly string[]): string {
  const texts = issues.slice(0, MAX_ISSUES).map((issue) => {
    if (issue.code === "unrecognized_keys")
      return `unknown parameter ${issue.keys.slice(0, MAX_ISSUES).map(shown).join(", ")}; known are ${known.join(", ") || "none"}`;
    return `${issue.path.join(".")}: ${issue.message}`;
  });
  return texts.join("; ");
}

/** A name from a request, quoted and cut. */
function shown(name: string): string {
  return JSON.stringify(name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name);
}

const PARAMETERS: ReadonlySet<string> = new Set(["schema", "package", "name"]);

/**
 * The filter in a query string (without its `?`). The first of a repeated parameter counts.
 * @returns undefined for a parameter of another name and for what is no query string: a broken escape, a semicolon.
 */
export function parseMetaQuery(query: string): MetaQuery | undefined {
  const found = new Map<string, string>();
  for (const [name, value] of queryPieces(query) ?? [["", ""]]) {
    if (!PARAMETERS.has(name)) return undefined;
    if (!found.has(name)) found.set(name, value);
  }
  return Object.fromEntries([...found].filter(([, value]) => value !== ""));
}

/**
 * The whole body of a request; undefined when it is larger than `maxBytes`, does not arrive in `timeoutMs`, or the client goes away meanwhile. What
 * comes after that is left unread.
 */
export async function requestBody(
  body: Readable,
  { maxBytes, timeoutMs, signal }: { maxBytes: number; timeoutMs: number; signal: AbortSignal },
): Promise<Buffer | undefined> {
  const { promise, resolve } = Promise.withResolvers<Buffer | undefined>();
  const pieces: Buffer[] = [];
  let size = 0;
  const take = (piece: Buffer): void => {
    size += piece.length;
    pieces.push(piece);
    if (size > maxBytes) resolve(undefined);
  };
  const whole = (): void => resolve(Buffer.concat(pieces));
  const none = (): void => resolve(undefined);
  const timer = setTimeout(none, timeoutMs);
  signal.addEventListener("abort", none, { once: true });
  body.on("data", take).once("end", whole).once("error", none);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", none);
    body
      .off("data", take)
      .off("end", whole)
      .off("error", none)
      .on("error", () => undefined);
    body.pause();
  }
}
