import { type DocumentNode, GraphQLError, Kind, parse } from "graphql";
import { messageOf } from "../../errors/errors.ts";
import { checkComplexity } from "./complexity.ts";
import type { QueryLimits } from "./limits.ts";
import { QueryError } from "./queryError.ts";

/** Longer lines are not shown. */
const MAX_SHOWN_LINE = 500;
// oxlint-disable-next-line no-control-regex -- what Go writes as escapes
const CONTROL = /[\u0000-\u001f]/g;

/**
 * A query's document; one without any definition when there is nothing but white space and comments, as for Go.
 * @throws QueryError when it is no GraphQL or exceeds a limit, with the words of the Go server as far as they are known.
 */
export function parseQuery(query: string, limits: QueryLimits): DocumentNode {
  const document = parsed(query, limits);
  checkComplexity(document, limits);
  return document;
}

function parsed(query: string, limits: QueryLimits): DocumentNode {
  if (/^(?:[\s,\ufeff]|#[^\n\r]*)*$/.test(query)) return { kind: Kind.DOCUMENT, definitions: [] };
  try {
    return parse(query);
  } catch (err) {
    // So many brackets in one another that the stack ends.
    if (err instanceof RangeError) throw new QueryError(`query exceeds maximum depth of ${limits.depth}`);
    throw new QueryError(`query parse error: ${err instanceof GraphQLError ? syntaxError(err, query) : messageOf(err)}`);
  }
}

/** @see github.com/graphql-go/graphql gqlerrors/syntax.go */
function syntaxError(err: GraphQLError, query: string): string {
  const { line, column } = err.locations?.[0] ?? { line: 1, column: 1 };
  const reason = err.message
    .replace(/^Syntax Error: /, "")
    .replaceAll("<EOF>", "EOF")
    .replace(/\.$/, "");
  return `Syntax Error GraphQL (${line}:${column}) ${reason}${excerpt(query, line, column)}`;
}

function excerpt(query: string, line: number, column: number): string {
  const lines = query.split(/\r\n|[\n\r]/);
  const shown = lines.slice(Math.max(0, line - 2), line + 1);
  if (shown.some((text) => text.length > MAX_SHOWN_LINE)) return "";
  const width = String(line + 1).length;
  const numbered = (n: number): string => `${String(n).padStart(width)}: ${escaped(lines[n - 1] ?? "")}\n`;
  const before = line >= 2 ? numbered(line - 1) : "";
  const after = line < lines.length ? numbered(line + 1) : "";
  return `\n\n${before}${numbered(line)}${" ".repeat(1 + width + column)}^\n${after}`;
}

function escaped(text: string): string {
  return text.replace(CONTROL, (char) => `\\u${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`);
}
