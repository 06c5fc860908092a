import type { FastifySchemaCompiler, FastifyTypeProvider } from "fastify";
import * as z from "zod";
import { ProblemError } from "./problem.ts";

/** Limits for a message: the number of problems, and the number of characters in a name. */
const MAX_ISSUES = 5;
const MAX_NAME = 64;

/** Types of `request.params` and `request.query`, derived from the schemas of the route. */
export interface ZodTypeProvider extends FastifyTypeProvider {
  validator: this["schema"] extends z.ZodType ? z.output<this["schema"]> : unknown;
}

/** A query string as `readQueryString` returns it. */
interface QueryText {
  /** The query string as received, without the `?`. */
  readonly text: string;
}

/**
 * Keeps a query string unparsed, because the schema of the route defines which parameters may be
 * repeated, and a route without a schema accepts any query.
 */
export function readQueryString(text: string): Record<string, unknown> {
  return { text } satisfies QueryText;
}

/**
 * Metadata for the schema of a query in which only the first value of a repeated parameter counts,
 * like in the Go server: `schema.meta(FIRST_OF_EACH)`.
 */
export const FIRST_OF_EACH = { repeated: "first" } as const;

/**
 * Compiles the schema of a route's parameters for fastify. The response to an invalid path or query
 * describes each problem. In a query schema, use `z.strictObject` to reject unknown parameters,
 * `z.coerce.number()` for numbers, and `z.array()` for repeatable parameters (a single value
 * becomes a list).
 */
export const compileValidator: FastifySchemaCompiler<z.ZodObject> = ({ schema, httpPart }) =>
  httpPart === "querystring" ? (query: QueryText) => validateQuery(schema, query) : (params: unknown) => validatePath(schema, params);

type Validated = { readonly value: unknown } | { readonly error: ProblemError };

function validateQuery(schema: z.ZodObject, { text }: QueryText): Validated {
  const parsed = parseQueryString(schema, text);
  return parsed.ok ? { value: parsed.values } : { error: new ProblemError("InvalidQuery", parsed.problem) };
}

function validatePath(schema: z.ZodObject, params: unknown): Validated {
  const parsed = schema.safeParse(params);
  if (parsed.success) return { value: parsed.data };
  const text = `invalid catalog name: ${parsed.error.issues.map(({ message }) => message).join("; ")}`;
  return { error: new ProblemError("InvalidCatalogName", text, { text }) };
}

/** The values of a query, or the problems of the query in one line. */
export type ParsedQueryString<T> = { readonly ok: true; readonly values: T } | { readonly ok: false; readonly problem: string };

/**
 * Parses a query string (without its `?`) with a schema. Rejects a repeated parameter unless it is
 * a list in the schema or only its first value counts.
 */
export function parseQueryString<Query extends z.ZodObject>(schema: Query, query: string): ParsedQueryString<z.output<Query>> {
  const pieces = queryPieces(query);
  if (!pieces) return reject("the query string has an invalid escape or a semicolon. Percent-encode everything except letters and digits");
  const found = new Map<string, string[]>();
  for (const [name, value] of pieces) found.set(name, [...(found.get(name) ?? []), value]);
  const given = new Map<string, string | string[]>();
  for (const [name, values] of found) {
    const [only = ""] = values;
    if (takesList(schema, name)) given.set(name, values);
    else if (values.length === 1 || takesFirst(schema)) given.set(name, only);
    else return reject(`parameter ${formatShortName(name)} is set ${values.length} times. Set it only once`);
  }
  const parsed = schema.safeParse(Object.fromEntries(given));
  return parsed.success ? { ok: true, values: parsed.data } : reject(formatIssues(parsed.error, Object.keys(schema.shape)));
}

function reject<T>(problem: string): ParsedQueryString<T> {
  return { ok: false, problem };
}

/** Returns whether only the first value of a repeated parameter counts. */
function takesFirst(schema: z.ZodObject): boolean {
  return schema.meta()?.["repeated"] === FIRST_OF_EACH.repeated;
}

/** Returns whether a parameter is a list; looks inside optional and default wrappers. */
function takesList(schema: z.ZodObject, name: string): boolean {
  let type: unknown = Object.hasOwn(schema.shape, name) ? schema.shape[name] : undefined;
  while (type instanceof z.ZodOptional || type instanceof z.ZodDefault || type instanceof z.ZodPipe)
    type = type instanceof z.ZodPipe ? type.in : type.unwrap();
  return type instanceof z.ZodArray;
}

function formatIssues({ issues }: z.ZodError, known: readonly string[]): string {
  const texts = issues.slice(0, MAX_ISSUES).map((issue) => {
    if (issue.code === "unrecognized_keys")
      return `unknown parameter ${issue.keys.slice(0, MAX_ISSUES).map(formatShortName).join(", ")} (supported: ${known.join(", ") || "none"})`;
    return `${issue.path.join(".")}: ${issue.message}`;
  });
  return texts.join("; ");
}

/** Truncates and quotes a name from a request. */
function formatShortName(name: string): string {
  return JSON.stringify(name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name);
}

/**
 * Returns the unescaped names and values in a query string (without its `?`), in order; undefined
 * if the query has an invalid escape or a semicolon.
 */
function queryPieces(query: string): [name: string, value: string][] | undefined {
  const pieces: [string, string][] = [];
  for (const piece of query.split("&")) {
    if (piece === "") continue;
    if (piece.includes(";")) return undefined;
    const equals = piece.indexOf("=");
    const name = unescapePiece(equals < 0 ? piece : piece.slice(0, equals));
    const value = unescapePiece(equals < 0 ? "" : piece.slice(equals + 1));
    if (name === undefined || value === undefined) return undefined;
    pieces.push([name, value]);
  }
  return pieces;
}

function unescapePiece(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}
