/** Ends a query as a whole; its message is the answer. */
export class QueryError extends Error {
  override readonly name = "QueryError";
}
