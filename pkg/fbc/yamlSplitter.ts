const SEPARATOR = Buffer.from("---");
const LINE_SEPARATOR = Buffer.from("\n---");
const NEWLINE = 0x0a;

/** What stands next in a stream of YAML documents. */
export type Split =
  /** A document of the bytes before `end`; the next one begins at `next`. */
  | { readonly kind: "document"; readonly end: number; readonly next: number }
  /** A separator line at `start` with something behind the dashes. */
  | { readonly kind: "separator"; readonly start: number; readonly rest: string };

/**
 * Splits YAML at lines that begin with `---`, which cannot stand inside a document. A separator with nothing before it belongs to the
 * document that follows.
 * It remembers how far it has looked, so looking again after more bytes arrived costs only the new bytes.
 * @see k8s.io/apimachinery pkg/util/yaml/decoder.go, YAMLReader
 */
export class YamlSplitter {
  #from = 0;

  /** @param bytes all unconsumed bytes, beginning with a line; the same ones as before, perhaps more. @returns undefined when more are needed. */
  next(bytes: Buffer, atEnd: boolean): Split | undefined {
    for (;;) {
      const start = this.#separator(bytes);
      if (start < 0) break;
      const newline = bytes.indexOf(NEWLINE, start);
      if (newline < 0 && !atEnd) return undefined;
      const lineEnd = newline < 0 ? bytes.length : newline;
      const rest = bytes.toString("utf8", start + SEPARATOR.length, lineEnd).trim();
      if (rest !== "" && !rest.startsWith("#")) return { kind: "separator", start, rest: rest.slice(0, 100) };
      const next = newline < 0 ? bytes.length : newline + 1;
      if (start > 0) {
        this.#from = 0;
        return { kind: "document", end: start, next };
      }
      this.#from = next;
    }
    if (!atEnd) {
      this.#from = Math.max(this.#from, bytes.length - LINE_SEPARATOR.length);
      return undefined;
    }
    this.#from = 0;
    return bytes.length === 0 ? undefined : { kind: "document", end: bytes.length, next: bytes.length };
  }

  #separator(bytes: Buffer): number {
    if (this.#from === 0 && bytes.subarray(0, SEPARATOR.length).equals(SEPARATOR)) return 0;
    const at = bytes.indexOf(LINE_SEPARATOR, Math.max(0, this.#from - 1));
    return at < 0 ? -1 : at + 1;
  }
}

/** How many of the first `end` bytes are newlines. */
export function newlinesIn(bytes: Buffer, end: number): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0 && at < end; at = bytes.indexOf(NEWLINE, at + 1)) count++;
  return count;
}
