import type { ContentIndex, Runs, Slice } from "./contentIndex.ts";

/** The lines of a part that answer one query. */
export class Selection {
  /** Equal for equal bytes. */
  readonly tag: string;
  readonly bytes: number;
  readonly runs: Runs;
  readonly #index: ContentIndex;
  #crc32: number | undefined;

  constructor(index: ContentIndex, runs: Runs, tag: string) {
    this.#index = index;
    this.runs = runs;
    this.tag = tag;
    this.bytes = index.bytesOf(runs);
  }

  /** Where the lines are in the part's file; made anew at each call. */
  get slices(): Slice[] {
    return this.#index.slicesOf(this.runs);
  }

  /** CRC-32 of the lines, one behind the other; found out once. */
  get crc32(): number {
    this.#crc32 ??= this.#index.crc32Of(this.runs);
    return this.#crc32;
  }
}
