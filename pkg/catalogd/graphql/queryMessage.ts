import type { DescribeRequest } from "./describePackage.ts";
import type { GraphLines, GraphRefusal, GraphRequest } from "./drawGraph.ts";
import type { LineRange, PageQuery } from "./queryContext.ts";

/** The open files of a catalog's content, which stay open until the thread has responded or exited. */
export interface OpenCatalogFiles {
  /** Identifies the content. */
  readonly key: number;
  /** File descriptor of the metas. */
  readonly metas: number;
  /** File descriptor and size of the artifact that describes the schemas. */
  readonly schemas: { readonly fd: number; readonly bytes: number };
}

/** Message to a query thread: a query, a request for a graph or package, or the location of objects that a query requested. */
export type ToQueryThread =
  | {
      readonly kind: "run";
      readonly request: QueryRequest;
      /** Undefined if the catalog does not exist. */
      readonly catalog: OpenCatalogFiles | undefined;
      /** A shared number that is nonzero after the client has disconnected. */
      readonly stop: Int32Array<SharedArrayBuffer>;
    }
  | { readonly kind: "graph"; readonly request: GraphRequest; readonly lines: GraphLines }
  /** @property metas file descriptor of the metas, which stays open until the thread has responded or exited */
  | { readonly kind: "describe"; readonly request: DescribeRequest; readonly metas: number; readonly lines: readonly LineRange[] }
  | { readonly kind: "found"; readonly find: number; readonly lines: readonly LineRange[] };

/** Message from a query thread. */
export type FromQueryThread =
  | { readonly kind: "started" }
  | { readonly kind: "find"; readonly find: number; readonly query: PageQuery }
  /** Undefined if the only error is that the catalog does not exist. */
  | { readonly kind: "done"; readonly answer: Uint8Array<ArrayBuffer> | undefined }
  /** The request for a graph or package cannot be satisfied. */
  | { readonly kind: "refused"; readonly code: GraphRefusal; readonly message: string }
  | { readonly kind: "failed"; readonly message: string };

/** A client's query. */
export interface QueryRequest {
  readonly query: string;
  readonly operationName?: string | undefined;
  readonly variables?: Readonly<Record<string, unknown>> | undefined;
}

/** The part of an error that the client gets. */
export interface QueryFault {
  readonly message: string;
  readonly locations?: readonly { line: number; column: number }[] | undefined;
  readonly path?: readonly (string | number)[] | undefined;
}

/** Returns the response to a query as JSON with a newline, formatted like Go's encoder. */
export function formatResponse(data: unknown, faults: readonly QueryFault[]): string {
  const errors = faults.map(({ message, locations, path }) => ({ message, locations: locations ?? [], ...(path ? { path } : {}) }));
  const text = JSON.stringify(errors.length > 0 ? { data, errors } : { data });
  // In JSON, these characters occur only in strings.
  return `${text.replace(/[<>&\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`)}\n`;
}

/** Returns a response that contains only an error. */
export function formatFailedQuery(message: string): string {
  return formatResponse(null, [{ message }]);
}
