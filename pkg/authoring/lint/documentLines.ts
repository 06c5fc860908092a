import { JsonObjectScanner } from "../../fbc/documentScanner.ts";
import { YamlLines, type YamlPath } from "../../golang/yaml.ts";

const SEPARATOR = /^---/m;

/** Finds the line numbers of values in one file of a catalog. */
export class DocumentLines {
  readonly #text: string;
  /** Offset of the start of each line. */
  readonly #starts: readonly number[];
  readonly #known = new Map<number, YamlLines>();

  constructor(text: string) {
    this.#text = text;
    const starts = [0];
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
    this.#starts = starts;
  }

  /** Returns the line, counted from 1, of the value at `path` in the object that begins on line `first`; `first` if the value is not found. */
  lineOf(first: number, path: YamlPath): number {
    const line = this.#linesAt(first).lineOf(0, path);
    return line === undefined ? first : first + line - 1;
  }

  #linesAt(first: number): YamlLines {
    const known = this.#known.get(first);
    if (known) return known;
    const lines = new YamlLines(documentAt(this.#text.slice(this.#starts[first - 1] ?? this.#text.length)));
    this.#known.set(first, lines);
    return lines;
  }
}

/** Returns the text of the first object. */
function documentAt(text: string): string {
  if (/^\s*\{/.test(text)) {
    const bytes = Buffer.from(text);
    const scan = new JsonObjectScanner().scan(bytes);
    if (scan.kind === "object") return bytes.toString("utf8", 0, scan.end);
  }
  const start = /^(?:---[^\n]*\n|[ \t]*(?:#[^\n]*)?\n)*/.exec(text)?.[0].length ?? 0;
  const end = text.slice(start).search(SEPARATOR);
  return end < 0 ? text : text.slice(0, start + end);
}
