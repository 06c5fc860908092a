import type { FastifySchemaCompiler, FastifyTypeProvider } from "fastify";
import * as z from "zod";
import { ProblemError } from "./problem.ts";

/** How many faults, and how many characters of a name, a message repeats. */
const MAX_ISSUES = 5;
const MAX_NAME = 64;

/** Types of `request.params` and `request.query`: those of the schemas of the route. */
export interface ZodTypeProvider extends FastifyTypeProvider {
  validator: this["schema"] extends z.ZodType ? z.output<this["schema"]> : unknown;
}

/** A query string as `readQueryString` leaves it. */
interface QueryText {
  /** Without the `?`, as it was sent. */
  readonly text: string;
}

/** Leaves a query string as it is: the schema of the route says which parameters may be repeated, and a route without a schema takes any text. */
export function readQueryString(text: string): Record<string, unknown> {
  return { text } satisfies QueryText;
}

/** Metadata of a query's schema that takes the first of a repeated parameter, as the Go server does: `schema.meta(FIRST_OF_EACH)`. */
export const FIRST_OF_EACH = { repeated: "first" } as const;

/**
 * Compiles the schema of a route's parameters for fastify: a request whose path or query it does not allow is answered with what is wrong with each
 * parameter. Use `z.strictObject` for a query, so that unknown parameters are rejected; `z.coerce.number()` for numbers; `z.array()` for what may be
 * repeated (one value is a list of one).
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

/** The values of a query, or what is wrong with it in one line. */
export type ParsedQueryString<T> = { readonly ok: true; readonly values: T } | { readonly ok: false; readonly problem: string };

/** Reads a query string (without its `?`) by a schema. A repeated name is refused unless the schema has a list there, or takes the first of each. */
export function parseQueryString<Query extends z.ZodObject>(schema: Query, query: string): ParsedQueryString<z.output<Query>> {
  const pieces = queryPieces(query);
  if (!pieces) return refused("the query string has a broken escape or a semicolon; escape what is neither letter nor digit");
  const found = new Map<string, string[]>();
  for (const [name, value] of pieces) found.set(name, [...(found.get(name) ?? []), value]);
  const given = new Map<string, string | string[]>();
  for (const [name, values] of found) {
    const [only = ""] = values;
    if (takesList(schema, name)) given.set(name, values);
    else if (values.length === 1 || takesFirst(schema)) given.set(name, only);
    else return refused(`${shown(name)} is given ${values.length} times; give it once`);
  }
  const parsed = schema.safeParse(Object.fromEntries(given));
  return parsed.success ? { ok: true, values: parsed.data } : refused(issuesOf(parsed.error, Object.keys(schema.shape)));
}

function refused<T>(problem: string): ParsedQueryString<T> {
  return { ok: false, problem };
}

/** Tells whether only the first of a repeated parameter counts. */
function takesFirst(schema: z.ZodObject): boolean {
  return schema.meta()?.["repeated"] === FIRST_OF_EACH.repeated;
}

/** Tells whether a parameter is a list, under whatever makes it optional. */
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
