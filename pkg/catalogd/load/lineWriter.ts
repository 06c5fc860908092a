import { createHash } from "node:crypto";
import { closeSync, openSync, writeSync } from "node:fs";
import { crc32 } from "node:zlib";
import type { WrittenLine } from "../store/indexBuilder.ts";

const WRITE_BYTES = 512 * 1024;
const SHORT_PIECE = 1_024;
const JOIN_CHARACTERS = 64 * 1024;

/** Appends lines to a file through a buffer, piece by piece. */
export class LineWriter {
  readonly #fd: number;
  readonly #buffer = Buffer.allocUnsafeSlow(WRITE_BYTES);
  #used = 0;
  /** Short pieces, joined before they are encoded. */
  #short = "";
  #hash = createHash("sha256");
  #length = 0;
  #crc32 = 0;

  constructor(path: string) {
    this.#fd = openSync(path, "wx", 0o600);
  }

  write(piece: string): void {
    if (piece.length < SHORT_PIECE) {
      this.#short += piece;
      if (this.#short.length < JOIN_CHARACTERS) return;
      this.#encodeShort();
    } else {
      this.#encodeShort();
      this.#encode(piece);
    }
  }

  /** Ends a line. */
  endLine(): WrittenLine {
    this.#short += "\n";
    this.#encodeShort();
    const line = { bytes: this.#length, sha256: this.#hash.digest(), crc32: this.#crc32 };
    this.#hash = createHash("sha256");
    this.#length = 0;
    return line;
  }

  close(): void {
    this.#flush();
    closeSync(this.#fd);
  }

  #encodeShort(): void {
    this.#encode(this.#short);
    this.#short = "";
  }

  #encode(text: string): void {
    for (let from = 0, to = 0; from < text.length; from = to) {
      to = Math.min(from + JOIN_CHARACTERS, text.length);
      if (to < text.length && isHighSurrogate(text.charCodeAt(to - 1))) to--;
      if ((to - from) * 3 > WRITE_BYTES - this.#used) this.#flush();
      const start = this.#used;
      this.#used += this.#buffer.write(text.slice(from, to), start);
      this.#length += this.#used - start;
      const written = this.#buffer.subarray(start, this.#used);
      this.#hash.update(written);
      this.#crc32 = crc32(written, this.#crc32);
    }
  }

  #flush(): void {
    for (let done = 0; done < this.#used; ) done += writeSync(this.#fd, this.#buffer, done, this.#used - done);
    this.#used = 0;
  }
}

/** The first half of a character beyond the basic plane, which must not be parted from the second. */
function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
