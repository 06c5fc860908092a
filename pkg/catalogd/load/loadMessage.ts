import type { ArtifactName, FindingsSummary } from "../store/content.ts";
import type { IndexColumns } from "../store/contentIndex.ts";
import type { FileLimits } from "./catalogFiles.ts";
import type { CatalogValidation } from "./findingsArtifact.ts";

/** Limits for the content of one catalog. */
export interface ContentLimits extends FileLimits, KeyLimits {
  documentBytes: number;
  metas: number;
}

/** Limits for the schemas, packages and names of objects. The index keeps each distinct text in memory. */
export interface KeyLimits {
  /** Maximum number of characters of one text. */
  keyLength: number;
  /** Maximum number of characters of all distinct texts. */
  totalKeyLength: number;
}

/**
 * Task of the worker thread: read the catalog at `root` and write the artifact files into the
 * folder `staging`.
 */
export interface LoadTask {
  root: string;
  staging: string;
  limits: ContentLimits;
  validation: CatalogValidation;
  /** The shared memory of a CurrentFile, to report the current file. */
  at: SharedArrayBuffer;
}

/** Result of reading a catalog. */
export type LoadEnd =
  | { kind: "loaded"; files: number; artifacts: ReadonlyMap<ArtifactName, IndexColumns>; findings: FindingsSummary }
  /** `isContent`: the cause is the catalog and not the machine that reads it. */
  | { kind: "failed"; message: string; isContent: boolean };

/** Message from the worker thread that loads a catalog: the number of bytes to read, or the result. */
export type LoadMessage = { kind: "listed"; bytes: number } | LoadEnd;

const ROOM = 1_024;
const LENGTH_BYTES = 4;

/**
 * The path of the file that a thread is reading. Stored in shared memory, so that another thread
 * can get the path even while the first one is blocked.
 */
export class CurrentFile {
  readonly shared: SharedArrayBuffer;
  readonly #length: Int32Array;
  readonly #text: Uint8Array;

  /** @param shared the shared memory of an instance in another thread. */
  constructor(shared: SharedArrayBuffer = new SharedArrayBuffer(LENGTH_BYTES + ROOM)) {
    this.shared = shared;
    this.#length = new Int32Array(shared, 0, 1);
    this.#text = new Uint8Array(shared, LENGTH_BYTES);
  }

  /** Stores the path, truncated if it does not fit. */
  set(path: string): void {
    const bytes = Buffer.from(path).subarray(0, ROOM);
    Atomics.store(this.#length, 0, 0);
    this.#text.set(bytes);
    Atomics.store(this.#length, 0, bytes.length);
  }

  /** Returns the path; empty before the first file. */
  get(): string {
    return Buffer.from(this.#text.subarray(0, Atomics.load(this.#length, 0))).toString();
  }
}
