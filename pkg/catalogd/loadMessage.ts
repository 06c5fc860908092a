import type { FileLimits } from "./catalogFiles.ts";
import type { IndexColumns } from "./contentIndex.ts";

/** Name of the file that holds a catalog's metas, one canonical JSON object a line. */
export const CONTENT_FILE = "catalog.jsonl";

/** Limits of one catalog's content. */
export interface ContentLimits extends FileLimits {
  documentBytes: number;
  metas: number;
}

/** What the worker thread is to do: read the catalog at `root` and write its content file into the folder `staging`. */
export interface LoadTask {
  root: string;
  staging: string;
  limits: ContentLimits;
}

/** What the worker thread that loads a catalog says when it is done. */
export type LoadMessage = { kind: "loaded"; files: number; columns: IndexColumns } | { kind: "failed"; message: string };
