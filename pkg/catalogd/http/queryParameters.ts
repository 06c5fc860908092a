import * as z from "zod";
import { type Answer, problemAnswer } from "./answer.ts";
import { queryPieces } from "./queryString.ts";
import type { Operation, Prepared, Route, RouteRequest } from "./route.ts";

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
