import { Parser, type YamlNode } from "./goyaml/parser.ts";

/** Names of members and indexes of elements, from the outside in. */
export type YamlPath = readonly (string | number)[];

/** Deeper than this nothing is looked for. */
const MAX_DEPTH = 1_000;

/** Finds the lines of values in one text of YAML or JSON, for messages. */
export class YamlLines {
  readonly #source: string;
  /** The documents that hold something. */
  readonly #documents: readonly YamlNode[];

  /** A text that cannot be parsed has no lines. */
  constructor(source: string) {
    this.#source = source;
    this.#documents = documentsIn(source).filter((node) => node.kind !== "scalar" || !node.isPlain || node.value !== "");
  }

  /** How many documents hold something. */
  get documents(): number {
    return this.#documents.length;
  }

  /**
   * The line, from 1, of what `path` leads to in a document (from 0): of its key, or of the element. Where it ends before, the line of the last
   * part that there is. Undefined for a document that there is not.
   */
  lineOf(document: number, path: YamlPath): number | undefined {
    let node = this.#documents[document];
    let offset = node?.start;
    for (const part of path) {
      const found = node && memberIn(node, part);
      if (!found) break;
      node = found.value;
      offset = found.start;
    }
    if (offset === undefined) return undefined;
    let line = 1;
    for (let end = this.#source.indexOf("\n"); end >= 0 && end < offset; end = this.#source.indexOf("\n", end + 1)) line++;
    return line;
  }
}

function memberIn(node: YamlNode, part: string | number): { value: YamlNode; start: number } | undefined {
  if (node.kind === "sequence") {
    const value = typeof part === "number" ? node.children[part] : undefined;
    return value && { value, start: value.start };
  }
  if (node.kind !== "mapping") return undefined;
  for (let at = 0; at < node.children.length; at += 2) {
    const key = node.children[at];
    const value = node.children[at + 1];
    if (key?.kind === "scalar" && value && key.value === String(part)) return { value, start: key.start };
  }
  return undefined;
}

function documentsIn(source: string): YamlNode[] {
  const documents: YamlNode[] = [];
  try {
    const parser = new Parser(source, MAX_DEPTH);
    for (let node = parser.next(); node; node = parser.next()) documents.push(node);
    return documents;
  } catch {
    return [];
  }
}
