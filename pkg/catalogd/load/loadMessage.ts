import type { ArtifactName, FindingsSummary } from "../store/content.ts";
import type { IndexColumns } from "../store/contentIndex.ts";
import type { FileLimits } from "./catalogFiles.ts";
import type { CatalogValidation } from "./findingsArtifact.ts";

/** Limits of one catalog's content. */
export interface ContentLimits extends FileLimits {
  documentBytes: number;
  metas: number;
}

/** What the worker thread is to do: read the catalog at `root` and write the files of its artifacts into the folder `staging`. */
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
  | { kind: "loaded"; files: number; artifacts: ReadonlyMap<ArtifactName, IndexColumns>; findings: FindingsSummary }
  /** `isContent`: the catalog is at fault, and not the machine that reads it. */
  | { kind: "failed"; message: string; isContent: boolean };

/** What the worker thread that loads a catalog says: how much there is to read, and how it ended. */
export type LoadMessage = { kind: "listed"; bytes: number } | LoadEnd;

const ROOM = 1_024;
const LENGTH_BYTES = 4;

/** The file that a thread is at, readable by another one also while the first is stuck. */
export class CurrentFile {
  readonly shared: SharedArrayBuffer;
  readonly #length: Int32Array;
  readonly #text: Uint8Array;

  /** @param shared of the same object in another thread. */
  constructor(shared: SharedArrayBuffer = new SharedArrayBuffer(LENGTH_BYTES + ROOM)) {
    this.shared = shared;
    this.#length = new Int32Array(shared, 0, 1);
    this.#text = new Uint8Array(shared, LENGTH_BYTES);
  }

  /** What does not fit is cut off. */
  set(path: string): void {
    const bytes = Buffer.from(path).subarray(0, ROOM);
    Atomics.store(this.#length, 0, 0);
    this.#text.set(bytes);
    Atomics.store(this.#length, 0, bytes.length);
  }

  /** Empty before the first file. */
  get(): string {
    return Buffer.from(this.#text.subarray(0, Atomics.load(this.#length, 0))).toString();
  }
}
