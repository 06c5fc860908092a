import type { GraphLines, GraphRefusal, GraphRequest } from "./drawGraph.ts";
import type { LineRange, PageQuery } from "./queryContext.ts";
import type { QueryRequest } from "./queryRequest.ts";

/** The open files of a catalog's content. They stay open until the thread is done or has ended. */
export interface CatalogFiles {
  /** Equal for the same content, and for no other. */
  readonly key: number;
  /** Descriptor of the metas. */
  readonly metas: number;
  /** Descriptor and size of the part that tells the schemas. */
  readonly schemas: { readonly fd: number; readonly bytes: number };
}

/** What a thread that executes queries is told: one query at a time, and where the objects are that it asks for. */
export type ToQueryThread =
  | {
      readonly kind: "run";
      readonly request: QueryRequest;
      /** Undefined where there is no such catalog. */
      readonly catalog: CatalogFiles | undefined;
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
