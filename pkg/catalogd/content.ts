import type { FileHandle } from "node:fs/promises";
import type { ContentIndex, MetaQuery, Slice } from "./contentIndex.ts";
import { ENCODINGS, type Encoding } from "./encodings.ts";

/** Where a catalog's content comes from. */
export interface ContentOrigin {
  /** Image reference by digest. */
  ref: string;
  /** Digest of the image. */
  digest: string;
  /** When the image was unpacked, RFC 3339 in whole seconds. */
  lastUnpacked: string;
}

/** The part of a content that answers one query. */
export interface Selection {
  /** Equal for equal bytes. */
  tag: string;
  bytes: number;
  slices: readonly Slice[];
}

/** A file that stays readable while it is held, even when it has been replaced or deleted. */
export interface HeldFile {
  readonly handle: FileHandle;
  readonly bytes: number;
}

const MAX_REMEMBERED_QUERIES = 4_096;

/**
 * What is served of one catalog at one time: an open file and its index, which always belong together. `hold` it before reading and `release` it
 * afterwards; the files are closed when it is retired and nobody holds it.
 */
export class CatalogContent {
  readonly origin: ContentOrigin;
  readonly index: ContentIndex;
  /** Whole seconds since the epoch. */
  readonly lastModified: number;
  readonly file: HeldFile;
  readonly #selections = new Map<string, Selection>();
  readonly #compressed = new Map<Encoding, HeldFile>();
  #holders = 1;
  #retired = false;

  constructor(origin: ContentOrigin, index: ContentIndex, lastModified: number, handle: FileHandle) {
    this.origin = origin;
    this.index = index;
    this.lastModified = lastModified;
    this.file = { handle, bytes: index.bytes };
  }

  /** The whole content compressed; undefined until that is done. */
  compressed(encoding: Encoding): HeldFile | undefined {
    return this.#compressed.get(encoding);
  }

  /** The codings in which the whole content is there, the better one first. */
  get encodings(): Encoding[] {
    return ENCODINGS.filter((encoding) => this.#compressed.has(encoding));
  }

  /** Hands over a compressed file. */
  async addCompressed(encoding: Encoding, file: HeldFile): Promise<void> {
    if (this.#retired) await file.handle.close();
    else this.#compressed.set(encoding, file);
  }

  hold(): void {
    this.#holders++;
  }

  release(): void {
    if (--this.#holders > 0) return;
    for (const { handle } of [this.file, ...this.#compressed.values()]) void handle.close().catch(() => undefined);
  }

  /** Ends the owner's hold: nobody new will get this content. */
  retire(): void {
    if (this.#retired) return;
    this.#retired = true;
    this.release();
  }

  /** The part that matches a query; the whole content when the query is empty. */
  select(query: MetaQuery): Selection {
    const key = JSON.stringify([query.schema ?? "", query.package ?? "", query.name ?? ""]);
    const known = this.#selections.get(key);
    if (known) return known;
    const selection = this.#find(query);
    if (this.#selections.size >= MAX_REMEMBERED_QUERIES) this.#selections.clear();
    this.#selections.set(key, selection);
    return selection;
  }

  #find(query: MetaQuery): Selection {
    const { index } = this;
    if (!query.schema && !query.package && !query.name)
      return { tag: index.tag, bytes: index.bytes, slices: [{ start: 0, end: index.bytes }] };
    const lines = index.find(query);
    const slices = index.slices(lines);
    return { tag: index.tagOf(lines), bytes: slices.reduce((sum, { start, end }) => sum + end - start, 0), slices };
  }
}
