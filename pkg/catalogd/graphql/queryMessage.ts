import type { GraphLines, GraphRefusal, GraphRequest } from "./drawGraph.ts";
import type { LineRange, PageQuery } from "./queryContext.ts";

/** The open files of a catalog's content. They stay open until the thread is done or has ended. */
export interface OpenCatalogFiles {
  /** Equal for the same content, and for no other. */
  readonly key: number;
  /** Descriptor of the metas. */
  readonly metas: number;
  /** Descriptor and size of the artifact that tells the schemas. */
  readonly schemas: { readonly fd: number; readonly bytes: number };
}

/** What a thread that executes queries is told: one query at a time, and where the objects are that it asks for. */
export type ToQueryThread =
  | {
      readonly kind: "run";
      readonly request: QueryRequest;
      /** Undefined where there is no such catalog. */
      readonly catalog: OpenCatalogFiles | undefined;
      /** One number; not zero when nobody waits any more. */
      readonly stop: Int32Array<SharedArrayBuffer>;
    }
  | { readonly kind: "graph"; readonly request: GraphRequest; readonly lines: GraphLines }
  | { readonly kind: "found"; readonly find: number; readonly lines: readonly LineRange[] };

/** What it says. */
export type FromQueryThread =
  | { readonly kind: "started" }
  | { readonly kind: "find"; readonly find: number; readonly query: PageQuery }
  /** Undefined when the only fault of the query is that there is no such catalog. */
  | { readonly kind: "done"; readonly answer: Uint8Array<ArrayBuffer> | undefined }
  /** The graph cannot be answered as it was asked for. */
  | { readonly kind: "refused"; readonly code: GraphRefusal; readonly message: string }
  | { readonly kind: "failed"; readonly message: string };

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
export function responseText(data: unknown, faults: readonly QueryFault[]): string {
  const errors = faults.map(({ message, locations, path }) => ({ message, locations: locations ?? [], ...(path ? { path } : {}) }));
  const text = JSON.stringify(errors.length > 0 ? { data, errors } : { data });
  // These characters occur nowhere but in strings.
  return `${text.replace(/[<>&\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`)}\n`;
}

/** An answer that says only why there is none. */
export function failedQuery(message: string): string {
  return responseText(null, [{ message }]);
}
