/** A query as a client sends it. */
export interface QueryRequest {
  readonly query: string;
  readonly operationName?: string | undefined;
  readonly variables?: Readonly<Record<string, unknown>> | undefined;
}

/** As much of an error as is told. */
export interface QueryFault {
  readonly message: string;
  readonly locations?: readonly { line: number; column: number }[] | undefined;
  readonly path?: readonly (string | number)[] | undefined;
}

/** The answer to a query in JSON, with a newline, as Go's encoder writes it. */
export function answerText(data: unknown, faults: readonly QueryFault[]): string {
  const errors = faults.map(({ message, locations, path }) => ({ message, locations: locations ?? [], ...(path ? { path } : {}) }));
  const text = JSON.stringify(errors.length > 0 ? { data, errors } : { data });
  // These characters occur nowhere but in strings.
  return `${text.replace(/[<>&\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`)}\n`;
}

/** An answer that says only why there is none. */
export function failedQuery(message: string): string {
  return answerText(null, [{ message }]);
}
