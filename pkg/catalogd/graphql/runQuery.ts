import { AbortedGraphQLExecutionError, execute, type GraphQLSchema, validate } from "graphql";
import { QUERY_LIMITS, type QueryLimits } from "./limits.ts";
import { parseQuery } from "./parseQuery.ts";
import { answerTooLarge, type ObjectSource, QueryContext } from "./queryContext.ts";
import { QueryError } from "./queryError.ts";
import { answerText, failedQuery, type QueryRequest } from "./queryRequest.ts";

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
    if (faults.length > 0) return answerText(null, faults);
    const context = new QueryContext(objects, limits, stopped);
    const { data = null, errors = [] } = await execute({
      schema,
      document,
      contextValue: context,
      variableValues: request.variables,
      operationName: request.operationName,
      abortSignal: context.signal,
    });
    const text = answerText(data, errors);
    return text.length > limits.answerBytes ? failedQuery(answerTooLarge(limits).message) : text;
  } catch (err) {
    const cause = err instanceof AbortedGraphQLExecutionError ? err.cause : err;
    if (cause instanceof QueryError) return failedQuery(cause.message);
    throw err;
  }
}
