import type { JsonObject } from "../../api/k8s.ts";
import { MetaDecoder } from "../../fbc/decode.ts";
import { JsonObjectScanner, YamlSplitter } from "../../fbc/documentScanner.ts";
import { ContentError, type Meta } from "../../fbc/types.ts";
import { toYaml } from "../../golang/yaml.ts";
import { formatJson, hasCompactLists, isSame, matchLineEnds, patchText } from "./patchText.ts";
import { NotEditableError } from "./textNode.ts";

/** An object in the text of a file. */
export interface TextDocument extends Meta {
  /** The text of only this object. */
  readonly text: string;
}

/** The new content of an object, or its removal. */
export type DocumentChange = { readonly to: JsonObject } | "removed";

/** The new text of a file. */
export interface ChangedText {
  readonly text: string;
  /** Indexes of objects that were rewritten without comments, because they could not be edited in place. */
  readonly rewritten: readonly number[];
}

const JSON_START = /^\s*\{/;
const SEPARATORS = /^(?:(?:[ \t\r]*(?:#[^\n]*)?|---[^\n]*)\n)*/;
/** Indentation that opm uses. */
const JSON_INDENT = 4;

/** A piece of a file: an object, or the text between objects. */
interface TextPiece {
  readonly text: string;
  readonly document?: Meta;
}

/**
 * The text of a catalog file and its objects.
 * @throws ContentError if the file cannot be read.
 */
export class CatalogText {
  readonly json: boolean;
  readonly #pieces: readonly TextPiece[];
  readonly documents: readonly TextDocument[];

  constructor(text: string) {
    const json = JSON_START.test(text) ? jsonPieces(text) : undefined;
    this.json = json !== undefined;
    this.#pieces = json ?? yamlPieces(text);
    this.documents = this.#pieces.flatMap(({ text: own, document }) => (document ? [{ ...document, text: own }] : []));
  }

  /**
   * Returns the text with objects changed, removed or appended. Keeps the rest of the text. Rewrites an object without its comments if it cannot be
   * edited in place.
   * @param changes by index of the object.
   */
  applyChanges(changes: ReadonlyMap<number, DocumentChange>, added: readonly JsonObject[] = []): ChangedText {
    const rewritten: number[] = [];
    const kept: TextPiece[] = [];
    let index = -1;
    for (const piece of this.#pieces) {
      if (!piece.document) {
        kept.push(piece);
        continue;
      }
      const change = changes.get(++index);
      if (change === "removed") removePiece(kept);
      else if (change === undefined) kept.push(piece);
      else {
        const patch = this.#patch(piece.text, piece.document.blob, change.to);
        if (patch.isRewritten) rewritten.push(index);
        kept.push({ ...piece, text: patch.text });
      }
    }
    const text = kept.map((piece) => piece.text).join("");
    return { text: added.reduce((all: string, blob) => this.#append(all, blob), text), rewritten };
  }

  #patch(text: string, before: JsonObject, after: JsonObject): { text: string; isRewritten: boolean } {
    try {
      const patched = patchText(text, before, after, this.json);
      const [only, ...more] = parseMetas(patched);
      if (only && more.length === 0 && isSame(plain(only.blob), plain(after))) return { text: patched, isRewritten: false };
    } catch (err) {
      if (!(err instanceof NotEditableError || err instanceof ContentError)) throw err;
    }
    const start = this.json ? "" : (SEPARATORS.exec(text)?.[0] ?? "");
    return { text: start + matchLineEnds(text, this.json ? formatJson(after, JSON_INDENT) : toYaml(after)), isRewritten: true };
  }

  #append(text: string, blob: JsonObject): string {
    const added = this.json ? this.#jsonAfter(text, blob) : this.#yamlAfter(text, blob);
    return text + matchLineEnds(text, text === "" || text.endsWith("\n") ? added : `\n${added}`);
  }

  #jsonAfter(text: string, blob: JsonObject): string {
    return `${text.trimEnd().includes("\n}") || text === "" ? formatJson(blob, JSON_INDENT) : JSON.stringify(blob)}\n`;
  }

  #yamlAfter(text: string, blob: JsonObject): string {
    const separator = text.trim() === "" || /(?:^|\n)---[ \t\r]*\n?$/.test(text) ? "" : "---\n";
    return separator + toYaml(blob, { compactLists: hasCompactLists(text) });
  }
}

/** Serializes `blob` as JSON and parses it again, so that comparisons ignore differences in notation. */
function plain(blob: JsonObject): unknown {
  return JSON.parse(formatJson(blob, 0));
}

/** Removes the separator before a removed object. `kept` must contain the pieces before the object. */
function removePiece(kept: TextPiece[]): void {
  const last = kept.at(-1);
  if (last && !last.document && last.text.startsWith("---")) kept.pop();
}

/** Splits a stream of JSON objects; undefined if the text is not a stream of JSON objects. */
function jsonPieces(text: string): TextPiece[] | undefined {
  const pieces: TextPiece[] = [];
  const scanner = new JsonObjectScanner();
  let bytes = Buffer.from(text);
  for (;;) {
    const scan = scanner.scan(bytes);
    if (scan.kind === "nothing") return bytes.length === 0 ? pieces : [...pieces, { text: bytes.toString("utf8") }];
    if (scan.kind !== "object") return undefined;
    if (scan.start > 0) pieces.push({ text: bytes.toString("utf8", 0, scan.start) });
    pieces.push(parsePiece(bytes.toString("utf8", scan.start, scan.end)));
    bytes = bytes.subarray(scan.end);
  }
}

function yamlPieces(text: string): TextPiece[] {
  const pieces: TextPiece[] = [];
  const splitter = new YamlSplitter();
  let bytes = Buffer.from(text);
  for (let split = splitter.next(bytes, true); split; split = splitter.next(bytes, true)) {
    if (split.kind === "separator") throw new Error(`invalid Yaml document separator: ${split.rest}`);
    pieces.push(parsePiece(bytes.toString("utf8", 0, split.end)));
    if (split.next > split.end) pieces.push({ text: bytes.toString("utf8", split.end, split.next) });
    bytes = bytes.subarray(split.next);
  }
  return pieces;
}

function parsePiece(text: string): TextPiece {
  const [document, ...more] = parseMetas(text);
  if (more.length > 0) throw new NotEditableError("a YAML document contains several objects");
  return document ? { text, document } : { text };
}

function parseMetas(text: string): Meta[] {
  const decoder = new MetaDecoder("");
  return [...decoder.push(Buffer.from(text)), ...decoder.end()].map(({ schema, package: packageName, name, blob }) => ({
    schema,
    package: packageName,
    name,
    blob,
  }));
}
