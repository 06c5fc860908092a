import { emitCanonicalJson } from "../../golang/json.ts";
import type { IndexColumns } from "../store/contentIndex.ts";
import { IndexBuilder } from "../store/indexBuilder.ts";
import { LineWriter } from "./lineWriter.ts";

/** Writes a part's file, one canonical JSON object a line, and collects its index. */
export class PartWriter {
  readonly #out: LineWriter;
  readonly #index = new IndexBuilder();
  readonly #maxLength: number;
  /** Characters of the line so far. */
  #length = 0;

  /** @param maxLength characters of a line at most. */
  constructor(path: string, maxLength: number) {
    this.#out = new LineWriter(path);
    this.#maxLength = maxLength;
  }

  get lines(): number {
    return this.#index.lines;
  }

  /**
   * Writes a line. @returns the line's SHA-256.
   * @throws RangeError for one that is too long, as soon as it is: what is shared within `value` is written out each time.
   * @throws TypeError as `emitCanonicalJson`.
   */
  add(key: { schema: string; package: string; name: string }, value: unknown): Buffer {
    this.#length = 0;
    emitCanonicalJson(value, this.#emit);
    const line = this.#out.endLine();
    this.#index.add(key, line);
    return line.sha256;
  }

  readonly #emit = (piece: string): void => {
    this.#length += piece.length;
    if (this.#length > this.#maxLength) throw new RangeError(`written out it has more than ${this.#maxLength} characters`);
    this.#out.write(piece);
  };

  /** Ends the file. */
  close(): IndexColumns {
    this.#out.close();
    return this.#index.columns();
  }
}
