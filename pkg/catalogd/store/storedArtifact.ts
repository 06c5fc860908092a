import type { FileHandle } from "node:fs/promises";
import { type ContentIndex, LineSelection, type MetaQuery } from "./contentIndex.ts";
import { ENCODINGS, type Encoding, type GzipPieces, GzipSegments } from "./encodings.ts";
import { type DamagedError, HeldFile } from "./storedFile.ts";

/**
 * A compressed file of an artifact, opened for reading. For gzip, `segments` contains the size of
 * each line's segment in bytes.
 */
export interface OpenForm {
  handle: FileHandle;
  bytes: number;
  segments?: Uint32Array | undefined;
}

/** Reports damage to a compressed file, or to the lines if the encoding is undefined. */
export type Damaged = (err: DamagedError, encoding: Encoding | undefined) => void;

/** A gzip response and the positions of its bytes. */
export interface GzipSelection extends GzipPieces {
  readonly file: HeldFile;
}

const MAX_REMEMBERED_QUERIES = 4_096;

/** One artifact of a content: an open file and its index. */
export class StoredArtifact {
  readonly index: ContentIndex;
  readonly file: HeldFile;
  readonly #selections = new Map<string, LineSelection>();
  readonly #compressed = new Map<Encoding, HeldFile>();
  /** Compressed files that are no longer served, but may still have readers. */
  readonly #withdrawn: HeldFile[] = [];
  #segments: GzipSegments | undefined;
  #damaged: Damaged | undefined;

  constructor(index: ContentIndex, handle: FileHandle) {
    this.index = index;
    this.file = new HeldFile(handle, index.bytes, (err) => this.#damaged?.(err, undefined));
  }

  /** Sets the callback for damage. */
  onDamage(damaged: Damaged): void {
    this.#damaged = damaged;
  }

  /** Returns the compressed file of the whole artifact; undefined until the file exists. */
  compressed(encoding: Encoding): HeldFile | undefined {
    return this.#compressed.get(encoding);
  }

  /** The codings in which the whole artifact is available, preferred first. */
  get encodings(): Encoding[] {
    return ENCODINGS.filter((encoding) => this.#compressed.has(encoding));
  }

  addCompressed(encoding: Encoding, { handle, bytes, segments }: OpenForm): void {
    const file = new HeldFile(handle, bytes, (err) => {
      if (this.#compressed.get(encoding) === file) this.withdrawCompressed(encoding);
      this.#damaged?.(err, encoding);
    });
    this.withdrawCompressed(encoding);
    this.#compressed.set(encoding, file);
    if (encoding === "gzip" && segments) this.#segments = new GzipSegments(segments);
  }

  /** Stops serving a compressed file. Responses in progress fail. */
  withdrawCompressed(encoding: Encoding): void {
    const file = this.#compressed.get(encoding);
    if (!file) return;
    this.#compressed.delete(encoding);
    this.#withdrawn.push(file);
    if (encoding === "gzip") this.#segments = undefined;
  }

  /** Returns the lines that match a query; all lines for an empty query. */
  select(query: MetaQuery): LineSelection {
    const key = JSON.stringify([query.schema ?? "", query.package ?? "", query.name ?? ""]);
    const known = this.#selections.get(key);
    if (known) return known;
    const selection = this.#find(query);
    // Not remembered, because clients choose the texts of queries without matches.
    if (selection.bytes === 0) return selection;
    if (this.#selections.size >= MAX_REMEMBERED_QUERIES) this.#selections.clear();
    this.#selections.set(key, selection);
    return selection;
  }

  /**
   * Returns a selection of this artifact as one gzip member without compressing anything; undefined
   * until the artifact has been compressed.
   */
  gzipped(selection: LineSelection): GzipSelection | undefined {
    const file = this.#compressed.get("gzip");
    return file && this.#segments && { file, ...this.#segments.pieces(selection) };
  }

  #find(query: MetaQuery): LineSelection {
    const { index } = this;
    if (!query.schema && !query.package && !query.name)
      return new LineSelection(index, Uint32Array.from(index.lines === 0 ? [] : [0, index.lines]), index.tag);
    const lines = index.find(query);
    return new LineSelection(index, index.runs(lines), index.tagOf(lines));
  }

  /** Closes the files. There must be no readers. */
  close(): void {
    for (const file of [this.file, ...this.#compressed.values(), ...this.#withdrawn]) file.close();
  }
}
