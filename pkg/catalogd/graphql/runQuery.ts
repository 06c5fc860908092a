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
import { getErrorMessage } from "../../errors/errors.ts";
import {
  createResponseTooLargeError,
  type ObjectSource,
  QUERY_LIMITS,
  QueryContext,
  QueryError,
  type QueryLimits,
} from "./queryContext.ts";
import { formatFailedQuery, formatResponse, type QueryRequest } from "./queryMessage.ts";

/** Query fields that return the schema itself. */
const INTROSPECTION: ReadonlySet<string> = new Set(["__schema", "__type"]);

/**
 * Rejects a document that is too deep or has too many fields or aliases in all its operations. A
 * fragment counts each time it is used; an undefined fragment does not count. Introspection has its
 * own limits, so that common tools can read the schema.
 * @throws QueryError with the messages of the Go server.
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

interface SelectionContext {
  depth: number;
  introspects: boolean;
}

class ComplexityCounter {
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly #limits: QueryLimits;
  /** Fragments that are being expanded. Validation rejects a fragment that uses itself. */
  readonly #open = new Set<string>();
  #selections = 0;
  #fields = 0;
  #introspectionFields = 0;
  #aliases = 0;

  constructor(fragments: ReadonlyMap<string, FragmentDefinitionNode>, limits: QueryLimits) {
    this.#fragments = fragments;
    this.#limits = limits;
  }

  walk(set: SelectionSetNode | undefined, place: SelectionContext): void {
    if (!set) return;
    const limit = place.introspects ? this.#limits.introspectionDepth : this.#limits.depth;
    if (place.depth > limit) throw new QueryError(`query exceeds maximum depth of ${limit}`);
    for (const selection of set.selections) this.#select(selection, place);
  }

  #select(selection: SelectionNode, { depth, introspects }: SelectionContext): void {
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

/** Longer lines are omitted from errors. */
const MAX_SHOWN_LINE = 500;
// oxlint-disable-next-line no-control-regex -- characters that Go escapes
const CONTROL = /[\u0000-\u001f]/g;

/**
 * Parses a query. Like Go, returns a document without definitions if the query contains only white
 * space and comments.
 * @throws QueryError if the query is invalid or exceeds a limit, with the messages of the Go server
 * where known.
 */
function parseQuery(query: string, limits: QueryLimits): DocumentNode {
  const document = parseDocument(query, limits);
  checkComplexity(document, limits);
  return document;
}

function parseDocument(query: string, limits: QueryLimits): DocumentNode {
  if (/^(?:[\s,\ufeff]|#[^\n\r]*)*$/.test(query)) return { kind: Kind.DOCUMENT, definitions: [] };
  try {
    return parse(query);
  } catch (err) {
    // The stack overflows if brackets are nested too deeply.
    if (err instanceof RangeError) throw new QueryError(`query exceeds maximum depth of ${limits.depth}`);
    throw new QueryError(`query parse error: ${err instanceof GraphQLError ? syntaxError(err, query) : getErrorMessage(err)}`);
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
  const numbered = (n: number): string => `${String(n).padStart(width)}: ${escapeControls(lines[n - 1] ?? "")}\n`;
  const before = line >= 2 ? numbered(line - 1) : "";
  const after = line < lines.length ? numbered(line + 1) : "";
  return `\n\n${before}${numbered(line)}${" ".repeat(1 + width + column)}^\n${after}`;
}

function escapeControls(text: string): string {
  return text.replace(CONTROL, (char) => `\\u${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`);
}

/** The GraphQL schema of a catalog and the source of its objects. */
export interface QueriedCatalog {
  readonly schema: GraphQLSchema;
  readonly objects: ObjectSource;
}

/** Cancellation check and non-default limits. */
export interface RunOptions {
  readonly stopped?: () => boolean;
  readonly limits?: QueryLimits;
}

/**
 * Returns the response to a query as JSON, including query errors.
 * @param open returns the catalog, or undefined if it does not exist; called only if the query is
 * within its limits.
 * @returns undefined if the only error is that the catalog does not exist.
 * @throws Error if the catalog cannot be opened.
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
    if (document.definitions.length === 0) return formatFailedQuery("Must provide an operation.");
    const { schema, objects } = catalog;
    const faults = validate(schema, document);
    if (faults.length > 0) return formatResponse(null, faults);
    const context = new QueryContext(objects, limits, stopped);
    const { data = null, errors = [] } = await execute({
      schema,
      document,
      contextValue: context,
      variableValues: request.variables,
      operationName: request.operationName,
      abortSignal: context.signal,
    });
    const text = formatResponse(data, errors);
    return text.length > limits.responseBytes ? formatFailedQuery(createResponseTooLargeError(limits).message) : text;
  } catch (err) {
    const cause = err instanceof AbortedGraphQLExecutionError ? err.cause : err;
    if (cause instanceof QueryError) return formatFailedQuery(cause.message);
    throw err;
  }
}
