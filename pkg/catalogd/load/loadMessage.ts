import type { IndexColumns } from "../store/contentIndex.ts";
import type { FindingsSummary } from "../store/findingsSummary.ts";
import type { PartName } from "../store/parts.ts";
import type { FileLimits } from "./catalogFiles.ts";
import type { CatalogValidation } from "./findingsPart.ts";

/** Limits of one catalog's content. */
export interface ContentLimits extends FileLimits {
  documentBytes: number;
  metas: number;
}

/** What the worker thread is to do: read the catalog at `root` and write the files of its parts into the folder `staging`. */
export interface LoadTask {
  root: string;
  staging: string;
  limits: ContentLimits;
  validation: CatalogValidation;
  /** Of a CurrentFile. */
  at: SharedArrayBuffer;
}

/** How reading a catalog ended. */
export type LoadEnd =
  | { kind: "loaded"; files: number; parts: ReadonlyMap<PartName, IndexColumns>; findings: FindingsSummary }
  /** `isContent`: the catalog is at fault, and not the machine that reads it. */
  | { kind: "failed"; message: string; isContent: boolean };

/** What the worker thread that loads a catalog says: how much there is to read, and how it ended. */
export type LoadMessage = { kind: "listed"; bytes: number } | LoadEnd;
