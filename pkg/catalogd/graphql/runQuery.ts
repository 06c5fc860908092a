import {
  AbortedGraphQLExecutionError,
  type DocumentNode,
  execute,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  parse,
  type SelectionNode,
  type SelectionSetNode,
  validate,
} from "graphql";
import { messageOf } from "../../errors/errors.ts";
import { type ObjectSource, QUERY_LIMITS, QueryContext, QueryError, type QueryLimits, responseTooLarge } from "./queryContext.ts";
import { failedQuery, type QueryRequest, responseText } from "./queryMessage.ts";

/** Fields of the query that ask for the schema itself. */
const INTROSPECTION: ReadonlySet<string> = new Set(["__schema", "__type"]);

/**
 * Refuses a document that is too deep, or has too many fields or aliases, over all of its operations. A fragment counts each time it is used, a
 * fragment that is not defined not at all; what asks for the schema has limits of its own, so that the usual tools can ask for it.
 * @throws QueryError with the words of the Go server.
 * @see operator-controller df2c201d internal/catalogd/graphql/validation.go
 */
function checkComplexity(document: DocumentNode, limits: QueryLimits): void {
  const fragments = new Map<string, FragmentDefinitionNode>();
  const operations: OperationDefinitionNode[] = [];
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
    else if (definition.kind === Kind.OPERATION_DEFINITION) operations.push(definition);
  }
  const counter = new ComplexityCounter(fragments, limits);
  for (const { selectionSet } of operations) counter.walk(selectionSet, { depth: 1, introspects: false });
}

interface Place {
  depth: number;
  introspects: boolean;
}

class ComplexityCounter {
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly #limits: QueryLimits;
  /** Fragments that are being expanded: one that uses itself is validation's to refuse. */
  readonly #open = new Set<string>();
  #selections = 0;
  #fields = 0;
  #introspectionFields = 0;
  #aliases = 0;

  constructor(fragments: ReadonlyMap<string, FragmentDefinitionNode>, limits: QueryLimits) {
    this.#fragments = fragments;
    this.#limits = limits;
  }

  walk(set: SelectionSetNode | undefined, place: Place): void {
    if (!set) return;
    const limit = place.introspects ? this.#limits.introspectionDepth : this.#limits.depth;
    if (place.depth > limit) throw new QueryError(`query exceeds maximum depth of ${limit}`);
    for (const selection of set.selections) this.#select(selection, place);
  }

  #select(selection: SelectionNode, { depth, introspects }: Place): void {
    const below = { depth: depth + 1, introspects };
    if (++this.#selections > this.#limits.selections) throw tooManyFields(this.#limits.fields);
    if (selection.kind === Kind.FIELD) {
      const asks = introspects || INTROSPECTION.has(selection.name.value);
      this.#count(asks);
      if (selection.alias && ++this.#aliases > this.#limits.aliases)
        throw new QueryError(`query exceeds maximum alias count of ${this.#limits.aliases}`);
      this.walk(selection.selectionSet, asks === introspects ? below : { depth: 1, introspects: asks });
    } else if (selection.kind === Kind.INLINE_FRAGMENT) {
      this.walk(selection.selectionSet, below);
    } else {
      const name = selection.name.value;
      if (this.#open.has(name)) return;
      this.#open.add(name);
      this.walk(this.#fragments.get(name)?.selectionSet, below);
      this.#open.delete(name);
    }
  }

  #count(introspects: boolean): void {
    const { fields, introspectionFields } = this.#limits;
    if (introspects && ++this.#introspectionFields > introspectionFields) throw tooManyFields(introspectionFields);
    if (!introspects && ++this.#fields > fields) throw tooManyFields(fields);
  }
}

function tooManyFields(limit: number): QueryError {
  return new QueryError(`query exceeds maximum field count of ${limit}`);
}

/** Longer lines are not shown. */
const MAX_SHOWN_LINE = 500;
// oxlint-disable-next-line no-control-regex -- what Go writes as escapes
const CONTROL = /[\u0000-\u001f]/g;

/**
 * A query's document; one without any definition when there is nothing but white space and comments, as for Go.
 * @throws QueryError when it is no GraphQL or exceeds a limit, with the words of the Go server as far as they are known.
 */
function parseQuery(query: string, limits: QueryLimits): DocumentNode {
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

/** @see github.com/graphql-go/graphql v0.8.1 gqlerrors/syntax.go */
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

/** The schema of a catalog, and where its objects are read. */
export interface QueriedCatalog {
  readonly schema: GraphQLSchema;
  readonly objects: ObjectSource;
}

/** Whether nobody waits for the answer any more, and other limits than usual. */
export interface RunOptions {
  readonly stopped?: () => boolean;
  readonly limits?: QueryLimits;
}

/**
 * The answer to a query in JSON; errors of the query are in it.
 * @param open the catalog, asked for when the query is within its limits; undefined when there is none.
 * @returns undefined when there is no catalog, and nothing is wrong with the query but that.
 * @throws Error when the catalog cannot be opened.
 */
export async function runQuery(
  request: QueryRequest,
  open: () => QueriedCatalog | undefined,
  { stopped = () => false, limits = QUERY_LIMITS }: RunOptions = {},
): Promise<string | undefined> {
  try {
    const document = parseQuery(request.query, limits);
    const catalog = open();
    if (!catalog) return undefined;
    if (document.definitions.length === 0) return failedQuery("Must provide an operation.");
    const { schema, objects } = catalog;
    const faults = validate(schema, document);
    if (faults.length > 0) return responseText(null, faults);
    const context = new QueryContext(objects, limits, stopped);
    const { data = null, errors = [] } = await execute({
      schema,
      document,
      contextValue: context,
      variableValues: request.variables,
      operationName: request.operationName,
      abortSignal: context.signal,
    });
    const text = responseText(data, errors);
    return text.length > limits.responseBytes ? failedQuery(responseTooLarge(limits).message) : text;
  } catch (err) {
    const cause = err instanceof AbortedGraphQLExecutionError ? err.cause : err;
    if (cause instanceof QueryError) return failedQuery(cause.message);
    throw err;
  }
}
