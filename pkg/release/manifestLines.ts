import { parseToken } from "./goScalar.ts";
import type { StringSink } from "./jsonScanner.ts";

const [BACKSLASH, LOWER_N, LOWER_U] = [0x5c, 0x6e, 0x75];
const ESCAPED_NEWLINE = "\\u000a";

/** Divides a string that comes in pieces into lines. */
export class ManifestLines implements StringSink {
  readonly #take: (line: string) => void;
  /** The beginning of the line that is read. */
  #pieces: Uint8Array[] = [];

  /** @param take called for each line that holds more than spaces, in order. */
  constructor(take: (line: string) => void) {
    this.#take = take;
  }

  add(piece: Uint8Array): void {
    let from = 0;
    for (let at = 0; at < piece.byteLength; ) {
      if (piece[at] !== BACKSLASH) {
        at++;
        continue;
      }
      const length = piece[at + 1] === LOWER_U ? ESCAPED_NEWLINE.length : 2;
      if (piece[at + 1] === LOWER_N || (length > 2 && isEscapedNewline(piece.subarray(at, at + length)))) {
        this.#pieces.push(piece.subarray(from, at));
        this.#endLine();
        from = at + length;
      }
      at += length;
    }
    if (from < piece.byteLength) this.#pieces.push(piece.subarray(from));
  }

  end(): void {
    this.#endLine();
  }

  #endLine(): void {
    const pieces = this.#pieces;
    this.#pieces = [];
    const line = String(parseToken(`"${Buffer.concat(pieces).toString("utf8")}"`));
    if (line.trim() !== "") this.#take(line);
  }
}

function isEscapedNewline(escape: Uint8Array): boolean {
  return Buffer.from(escape).toString("latin1").toLowerCase() === ESCAPED_NEWLINE;
}
