import type { FileHandle } from "node:fs/promises";
import { type ContentIndex, LineSelection, type MetaQuery } from "./contentIndex.ts";
import { ENCODINGS, type Encoding, type GzipPieces, GzipSegments } from "./encodings.ts";
import { type DamagedError, HeldFile } from "./storedFile.ts";

/** A compressed form of an artifact as an open file; `segments`, of gzip, are the bytes of each line's segment. */
export interface OpenForm {
  handle: FileHandle;
  bytes: number;
  segments?: Uint32Array | undefined;
}

/** What of an artifact is damaged: a compressed form, or the lines themselves. */
export type Damaged = (err: DamagedError, encoding: Encoding | undefined) => void;

/** A gzip answer: where its bytes are. */
export interface GzipSelection extends GzipPieces {
  readonly file: HeldFile;
}

const MAX_REMEMBERED_QUERIES = 4_096;

/** One artifact of a content: an open file and its index, which always belong together. */
export class StoredArtifact {
  readonly index: ContentIndex;
  readonly file: HeldFile;
  readonly #selections = new Map<string, LineSelection>();
  readonly #compressed = new Map<Encoding, HeldFile>();
  /** Compressed forms that are served no more, but may still be read. */
  readonly #withdrawn: HeldFile[] = [];
  #segments: GzipSegments | undefined;
  #damaged: Damaged | undefined;

  constructor(index: ContentIndex, handle: FileHandle) {
    this.index = index;
    this.file = new HeldFile(handle, index.bytes, (err) => this.#damaged?.(err, undefined));
  }

  /** Sets who is told of damage. */
  onDamage(damaged: Damaged): void {
    this.#damaged = damaged;
  }

  /** The whole artifact compressed; undefined until that is done. */
  compressed(encoding: Encoding): HeldFile | undefined {
    return this.#compressed.get(encoding);
  }

  /** The codings in which the whole artifact is there, the better one first. */
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

  /** Serves a compressed form no more; answers under way end with it. */
  withdrawCompressed(encoding: Encoding): void {
    const file = this.#compressed.get(encoding);
    if (!file) return;
    this.#compressed.delete(encoding);
    this.#withdrawn.push(file);
    if (encoding === "gzip") this.#segments = undefined;
  }

  /** The lines that match a query; all of them when the query is empty. */
  select(query: MetaQuery): LineSelection {
    const key = JSON.stringify([query.schema ?? "", query.package ?? "", query.name ?? ""]);
    const known = this.#selections.get(key);
    if (known) return known;
    const selection = this.#find(query);
    if (this.#selections.size >= MAX_REMEMBERED_QUERIES) this.#selections.clear();
    this.#selections.set(key, selection);
    return selection;
  }

  /** A selection of this artifact as one gzip member, without compressing anything; undefined until the artifact has been compressed. */
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

  /** Nobody may read from it any more. */
  close(): void {
    for (const file of [this.file, ...this.#compressed.values(), ...this.#withdrawn]) file.close();
  }
}
