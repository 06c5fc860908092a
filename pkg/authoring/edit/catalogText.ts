import type { JsonObject } from "../../api/k8s.ts";
import { MetaDecoder } from "../../fbc/decode.ts";
import { JsonObjectScanner, YamlSplitter } from "../../fbc/documentScanner.ts";
import { ContentError, type Meta } from "../../fbc/types.ts";
import { toYaml } from "../../golang/yaml.ts";
import { hasCompactLists, isSame, patchText, prettyJson, withLineEndsOf } from "./patchText.ts";
import { NotEditableError } from "./textNode.ts";

/** One object in the text of a file. */
export interface TextDocument extends Meta {
  /** The text that holds it and nothing else. */
  readonly text: string;
}

/** A change of one object: its new content, or that it goes. */
export type DocumentChange = { readonly to: JsonObject } | "removed";

/** What a file is written as, and whether comments went with that. */
export interface ChangedText {
  readonly text: string;
  /** Objects, by their index, that could not be edited in place and were written anew. */
  readonly rewritten: readonly number[];
}

const JSON_START = /^\s*\{/;
const SEPARATORS = /^(?:(?:[ \t\r]*(?:#[^\n]*)?|---[^\n]*)\n)*/;
/** As opm writes. */
const JSON_INDENT = 4;

/** A piece of a file: an object, or what stands between objects. */
interface Piece {
  readonly text: string;
  readonly document?: Meta;
}

/**
 * A file of a catalog as text, with the objects in it.
 * @throws ContentError for what cannot be read.
 */
export class CatalogText {
  readonly json: boolean;
  readonly #pieces: readonly Piece[];
  readonly documents: readonly TextDocument[];

  constructor(text: string) {
    const json = JSON_START.test(text) ? jsonPieces(text) : undefined;
    this.json = json !== undefined;
    this.#pieces = json ?? yamlPieces(text);
    this.documents = this.#pieces.flatMap(({ text: own, document }) => (document ? [{ ...document, text: own }] : []));
  }

  /**
   * The text with objects changed or removed, by their index, and new ones at the end; nothing else of it changes.
   * @param changes of objects that are written so that they cannot be edited in place make these be written anew, without their comments.
   */
  changed(changes: ReadonlyMap<number, DocumentChange>, added: readonly JsonObject[] = []): ChangedText {
    const rewritten: number[] = [];
    const kept: Piece[] = [];
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
        const patch = this.#patched(piece.text, piece.document.blob, change.to);
        if (patch.anew) rewritten.push(index);
        kept.push({ ...piece, text: patch.text });
      }
    }
    const text = kept.map((piece) => piece.text).join("");
    return { text: added.reduce((all: string, blob) => this.#appended(all, blob), text), rewritten };
  }

  #patched(text: string, before: JsonObject, after: JsonObject): { text: string; anew: boolean } {
    try {
      const patched = patchText(text, before, after, this.json);
      const [only, ...more] = metasIn(patched);
      if (only && more.length === 0 && isSame(plain(only.blob), plain(after))) return { text: patched, anew: false };
    } catch (err) {
      if (!(err instanceof NotEditableError || err instanceof ContentError)) throw err;
    }
    const start = this.json ? "" : (SEPARATORS.exec(text)?.[0] ?? "");
    return { text: start + withLineEndsOf(text, this.json ? prettyJson(after, JSON_INDENT) : toYaml(after)), anew: true };
  }

  #appended(text: string, blob: JsonObject): string {
    const added = this.json ? this.#jsonAfter(text, blob) : this.#yamlAfter(text, blob);
    return text + withLineEndsOf(text, text === "" || text.endsWith("\n") ? added : `\n${added}`);
  }

  #jsonAfter(text: string, blob: JsonObject): string {
    return `${text.trimEnd().includes("\n}") || text === "" ? prettyJson(blob, JSON_INDENT) : JSON.stringify(blob)}\n`;
  }

  #yamlAfter(text: string, blob: JsonObject): string {
    const separator = text.trim() === "" || /(?:^|\n)---[ \t\r]*\n?$/.test(text) ? "" : "---\n";
    return separator + toYaml(blob, { compactLists: hasCompactLists(text) });
  }
}

/** `blob` as text of JSON and parsed again, so that what means the same is the same. */
function plain(blob: JsonObject): unknown {
  return JSON.parse(prettyJson(blob, 0));
}

/** The separator goes with the object behind it, where there is one before; else with the one before. */
function removePiece(kept: Piece[]): void {
  const last = kept.at(-1);
  if (last && !last.document && last.text.startsWith("---")) kept.pop();
}

/** Undefined for what is no stream of JSON objects. */
function jsonPieces(text: string): Piece[] | undefined {
  const pieces: Piece[] = [];
  const scanner = new JsonObjectScanner();
  let bytes = Buffer.from(text);
  for (;;) {
    const scan = scanner.scan(bytes);
    if (scan.kind === "nothing") return bytes.length === 0 ? pieces : [...pieces, { text: bytes.toString("utf8") }];
    if (scan.kind !== "object") return undefined;
    if (scan.start > 0) pieces.push({ text: bytes.toString("utf8", 0, scan.start) });
    pieces.push(pieceOf(bytes.toString("utf8", scan.start, scan.end)));
    bytes = bytes.subarray(scan.end);
  }
}

function yamlPieces(text: string): Piece[] {
  const pieces: Piece[] = [];
  const splitter = new YamlSplitter();
  let bytes = Buffer.from(text);
  for (let split = splitter.next(bytes, true); split; split = splitter.next(bytes, true)) {
    if (split.kind === "separator") throw new Error(`invalid Yaml document separator: ${split.rest}`);
    pieces.push(pieceOf(bytes.toString("utf8", 0, split.end)));
    if (split.next > split.end) pieces.push({ text: bytes.toString("utf8", split.end, split.next) });
    bytes = bytes.subarray(split.next);
  }
  return pieces;
}

function pieceOf(text: string): Piece {
  const [document, ...more] = metasIn(text);
  if (more.length > 0) throw new NotEditableError("several objects stand between two separators");
  return document ? { text, document } : { text };
}

function metasIn(text: string): Meta[] {
  const decoder = new MetaDecoder("");
  return [...decoder.push(Buffer.from(text)), ...decoder.end()].map(({ schema, package: packageName, name, blob }) => ({
    schema,
    package: packageName,
    name,
    blob,
  }));
}
