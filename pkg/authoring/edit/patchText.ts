import { isDeepStrictEqual } from "node:util";
import { diffArrays } from "diff";
import { isScalar, type ParsedNode } from "yaml";
import type { JsonObject } from "../../api/k8s.ts";
import { encodeCanonicalJson, getNumberToken } from "../../golang/json.ts";
import { isObject } from "../../golang/members.ts";
import { toYaml } from "../../golang/yaml.ts";
import {
  findMark,
  findSpan,
  isListNode,
  isMapNode,
  type ListNode,
  type MapNode,
  NotEditableError,
  parseEditableNode,
  type Span,
} from "./textNode.ts";

/** Maps indexes of kept items in the old list to their indexes in the new list. */
type Alignment = ReadonlyMap<number, number>;

/** Maximum removed and added items, because the search is quadratic. Lists with more changes are rewritten. */
const MAX_CHANGED = 5_000;

/** Aligns as many items of two lists as possible, in order. Objects with the same name are aligned. */
function alignItems(before: readonly unknown[], after: readonly unknown[]): Alignment {
  const pairs = new Map<number, number>();
  let [i, j] = [0, 0];
  for (const { added, removed, count } of diffArrays(before.map(identity), after.map(identity), { maxEditLength: MAX_CHANGED }) ?? []) {
    if (!added && !removed) for (let n = 0; n < count; n++) pairs.set(i + n, j + n);
    if (!added) i += count;
    if (!removed) j += count;
  }
  return pairs;
}

function identity(item: unknown): string {
  if (!isObject(item)) return JSON.stringify(item, (_, value: unknown) => (typeof value === "bigint" ? `${value}n` : value)) ?? "";
  const { name, reference } = item;
  return JSON.stringify(typeof name === "string" ? [name] : isObject(reference) ? reference : item, (_, value: unknown) =>
    typeof value === "bigint" ? `${value}n` : value,
  );
}

/** Reports whether two values are equal. Ignores the order of object fields. */
export function isSame(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(a, b);
}

/** The style of the text around a change. */
interface TextStyle {
  /** Whether the text is JSON: quoted keys in braces. */
  readonly json: boolean;
  /** Indentation of multi-line JSON; 0 if the text is on one line. */
  readonly indent: number;
  /** Whether lists in block style have the same indentation as their keys. */
  readonly compactLists: boolean;
}

/** Converts the line ends of `added` to those of `text`. */
export function matchLineEnds(text: string, added: string): string {
  return /\r\n/.test(text) ? added.replaceAll("\n", "\r\n") : added;
}

/** Reports whether lists in a YAML text have the same indentation as their keys. */
export function hasCompactLists(text: string): boolean {
  return /^([ \t]*)[^\s#-][^\n#]*:[ \t]*(?:#[^\n]*)?\r?\n\1- /m.test(text);
}

/** Formats `key: value` in block style. Indents lines after the first by `column`. */
function blockMember(key: string, value: unknown, column: number, style: TextStyle): string {
  return indentLines(toYaml({ [key]: value }, style), column);
}

/** Formats `- value` in block style. Indents lines after the first by `column`. */
function blockItem(value: unknown, column: number, style: TextStyle): string {
  return indentLines(toYaml([value], style), column);
}

/** Formats the text after `key:` in block style, with a leading space or newline. */
function formatAfterKey(value: unknown, column: number, style: TextStyle): string {
  return blockMember("k", value, column, style).slice("k:".length);
}

/** Formats the text after the dash of an item in block style, with a leading space. */
function formatAfterDash(value: unknown, column: number, style: TextStyle): string {
  return blockItem(value, column, style).slice("-".length);
}

/** Formats a value in flow style. JSON is multi-line if `column`, the column of its first character, is set. YAML is on one line. */
function flowValue(value: unknown, column: number | undefined, { json, indent }: TextStyle): string {
  // Formats the value inside brackets, so that strings with brackets or commas are quoted.
  if (!json) return toYaml([value], { flow: true }).trimEnd().slice(1, -1);
  return column === undefined || indent === 0 ? oneLineJson(value, indent > 0) : indentLines(formatJson(value, indent), column);
}

/** Formats a value as multi-line JSON. Numbers keep their digits. */
export function formatJson(value: unknown, indent: number): string {
  const format = (inner: unknown, level: number): string => {
    const pad = " ".repeat(indent * (level + 1));
    const end = `\n${" ".repeat(indent * level)}`;
    if (typeof inner !== "object" || inner === null || getNumberToken(inner) !== undefined) return plainJson(inner);
    const members = Array.isArray(inner)
      ? inner.map((item) => format(item, level + 1))
      : Object.entries(inner).map(([key, member]) => `${JSON.stringify(key)}: ${format(member, level + 1)}`);
    const [open, close] = Array.isArray(inner) ? ["[", "]"] : ["{", "}"];
    if (members.length === 0) return open + close;
    return `${open}\n${members.map((member) => pad + member).join(",\n")}${end}${close}`;
  };
  return format(value, 0);
}

function oneLineJson(value: unknown, spaced: boolean): string {
  const comma = spaced ? ", " : ",";
  const colon = spaced ? ": " : ":";
  if (typeof value !== "object" || value === null || getNumberToken(value) !== undefined) return plainJson(value);
  if (Array.isArray(value)) return `[${value.map((item) => oneLineJson(item, spaced)).join(comma)}]`;
  const members = Object.entries(value).map(([key, member]) => JSON.stringify(key) + colon + oneLineJson(member, spaced));
  return `{${members.join(comma)}}`;
}

function plainJson(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : encodeCanonicalJson(value);
}

function indentLines(text: string, column: number): string {
  const [first = "", ...more] = text.trimEnd().split("\n");
  const pad = " ".repeat(column);
  return [first, ...more.map((line) => (line === "" ? line : pad + line))].join("\n");
}

/**
 * The position of a value: in block style, `column` of its field or item and offset `mark` of the colon or dash before it; in flow style, inside
 * brackets; or the whole document.
 */
type Position =
  | { readonly in: "member" | "item"; readonly column: number; readonly mark: number }
  | { readonly in: "flow" }
  | { readonly in: "document" };

interface TextEdit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * Changes the text of a document only where `after` differs from `before`. Keeps comments, order and style of the rest.
 * @param text the text of `before`.
 * @param json whether the text is JSON.
 * @throws NotEditableError if a changed part cannot be edited in place.
 */
export function patchText(text: string, before: JsonObject, after: JsonObject, json: boolean): string {
  return new TextPatch(text, json).apply(before, after);
}

class TextPatch {
  readonly #text: string;
  readonly #root: ParsedNode;
  readonly #style: TextStyle;
  readonly #edits: TextEdit[] = [];

  constructor(text: string, json: boolean) {
    this.#text = text;
    this.#root = parseEditableNode(text);
    this.#style = { json, indent: detectIndent(text), compactLists: hasCompactLists(text) };
  }

  apply(before: JsonObject, after: JsonObject): string {
    this.#change(this.#root, before, after, { in: "document" });
    let text = "";
    let from = 0;
    for (const edit of this.#edits.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
      if (edit.start < from) throw new NotEditableError("changes overlap");
      text += this.#text.slice(from, edit.start) + matchLineEnds(this.#text, edit.text);
      from = edit.end;
    }
    return text + this.#text.slice(from);
  }

  #change(node: ParsedNode, before: unknown, after: unknown, position: Position): void {
    if (isSame(before, after)) return;
    if (isMapNode(node) && isObject(before) && isObject(after) && this.#changeMap(node, before, after)) return;
    if (isListNode(node) && Array.isArray(before) && Array.isArray(after) && this.#changeList(node, before, after)) return;
    this.#replace(node, after, position);
  }

  /** @returns false, without changes, if no field of the map remains. */
  #changeMap(node: MapNode, before: JsonObject, after: JsonObject): boolean {
    const names = node.items.map(({ key }) => key.value);
    if (!names.some((name) => Object.hasOwn(after, name))) return false;
    if (new Set(names).size < names.length) throw new NotEditableError("a key is duplicated");
    const spans = node.items.map(({ key, value }) => ({ start: key.range[0], end: this.#spanOf(value).end }));
    const column = this.#column(spans[0]?.start ?? 0);
    for (const { key, value, srcToken } of node.items) {
      if (!value || !Object.hasOwn(after, key.value)) continue;
      const position: Position = node.flow
        ? { in: "flow" }
        : { in: "member", column: this.#column(key.range[0]), mark: findMark(srcToken?.sep, "map-value-ind") };
      this.#change(value, before[key.value], after[key.value], position);
    }
    const isKept = (i: number): boolean => Object.hasOwn(after, names[i] ?? "");
    const last = names.findLastIndex((_, i) => isKept(i));
    const added = Object.entries(after).filter(([name]) => !names.includes(name));
    for (const [name, value] of added) {
      if (node.flow) this.#insertInFlow(node, spans, last, (at) => this.#flowPair(name, value, at));
      else this.#insertLine(this.#lineEnd(spans[last]?.end ?? 0), column, blockMember(name, value, column, this.#style));
    }
    this.#removeSpans(node, spans, isKept, last);
    return true;
  }

  #changeList(node: ListNode, before: readonly unknown[], after: readonly unknown[]): boolean {
    const pairs = alignItems(before, after);
    if (pairs.size === 0 || node.items.length !== before.length) return false;
    const marks = node.items.map((_, i) => (node.flow ? 0 : findMark(node.srcToken?.items[i]?.start, "seq-item-ind")));
    const spans = node.items.map((item, i) => ({ ...this.#spanOf(item), ...(node.flow ? {} : { start: marks[i] ?? 0 }) }));
    const column = this.#column(spans[0]?.start ?? 0);
    for (const [i, j] of pairs)
      this.#change(
        node.items[i] as ParsedNode,
        before[i],
        after[j],
        node.flow ? { in: "flow" } : { in: "item", column, mark: marks[i] ?? 0 },
      );
    const oldIndexes = new Map([...pairs].map(([i, j]) => [j, i]));
    let previous = -1;
    for (const [j, value] of after.entries()) {
      const old = oldIndexes.get(j);
      if (old !== undefined) previous = old;
      else this.#insertItem(node, spans, { previous, next: Math.min(...pairs.keys()), column }, value);
    }
    const last = Math.max(...pairs.keys());
    this.#removeSpans(node, spans, (i) => pairs.has(i), last);
    return true;
  }

  /** Inserts an item after `previous`, or before `next` if `previous` is -1. */
  #insertItem(
    node: ListNode,
    spans: readonly Span[],
    { previous, next, column }: { previous: number; next: number; column: number },
    value: unknown,
  ): void {
    if (node.flow) {
      this.#insertInFlow(node, spans, previous, (at) => flowValue(value, at, this.#style), next);
    } else if (previous >= 0) {
      this.#insertLine(this.#lineEnd(spans[previous]?.end ?? 0), column, blockItem(value, column, this.#style));
    } else {
      const start = this.#ownLine(spans[next]?.start ?? 0);
      this.#edits.push({ start, end: start, text: `${" ".repeat(column)}${blockItem(value, column, this.#style)}\n` });
    }
  }

  #insertLine(at: number, column: number, text: string): void {
    this.#edits.push({ start: at, end: at, text: `\n${" ".repeat(column)}${text}` });
  }

  /** Inserts an item in flow style. @param format gets the column of the item, or undefined if the collection is on one line. */
  #insertInFlow(node: MapNode | ListNode, spans: readonly Span[], previous: number, format: (column?: number) => string, next = 0): void {
    const anchor = spans[Math.max(previous, next)]?.start ?? 0;
    const lines = this.#text.slice(node.range[0], anchor).includes("\n");
    const column = this.#column(anchor);
    const text = format(lines ? column : undefined);
    const between = lines ? `,\n${" ".repeat(column)}` : this.#style.json && this.#style.indent === 0 ? "," : ", ";
    const at = previous >= 0 ? (spans[previous]?.end ?? 0) : anchor;
    this.#edits.push({ start: at, end: at, text: previous >= 0 ? between + text : text + between });
  }

  #flowPair(name: string, value: unknown, column: number | undefined): string {
    const { json, indent } = this.#style;
    if (!json) return flowValue({ [name]: value }, column, this.#style).slice(1, -1);
    return `${JSON.stringify(name)}:${indent > 0 ? " " : ""}${flowValue(value, column, this.#style)}`;
  }

  #removeSpans(node: MapNode | ListNode, spans: readonly Span[], isKept: (i: number) => boolean, last: number): void {
    for (const [i, { start, end }] of spans.entries()) {
      if (isKept(i)) continue;
      const next = spans[i + 1];
      if (node.flow && i < last && next) this.#remove(start, next.start, end);
      else if (node.flow && i === last + 1) this.#remove(spans[last]?.end ?? 0, spans.at(-1)?.end ?? 0);
      else if (!node.flow && this.#isOnOwnLine(start)) this.#removeLines(start, end);
      else if (!node.flow && next && isKept(i + 1)) this.#remove(start, next.start, end);
      else if (!node.flow) throw new NotEditableError("a removed item shares its line with other content");
    }
  }

  /** Removes a range. @param contentEnd end of the removed content. The rest of the range must not contain a comment. */
  #remove(start: number, end: number, contentEnd = end): void {
    if (this.#text.slice(contentEnd, end).includes("#")) throw new NotEditableError("a comment would be lost");
    this.#edits.push({ start, end, text: "" });
  }

  #removeLines(start: number, end: number): void {
    const next = this.#text.indexOf("\n", end) + 1;
    const lineStart = this.#ownLine(start);
    if (next > 0) this.#edits.push({ start: lineStart, end: next, text: "" });
    else this.#edits.push({ start: lineStart === 0 ? 0 : this.#lineEnd(lineStart - 2), end: this.#text.length, text: "" });
  }

  #replace(node: ParsedNode, value: unknown, position: Position): void {
    if (position.in === "document") throw new NotEditableError("no field is kept");
    const { start, end } = this.#spanOf(node);
    if (position.in === "flow" || this.#style.json) {
      const lines = this.#text.slice(start, end).includes("\n") || isCollection(value);
      this.#edits.push({ start, end, text: flowValue(value, lines ? this.#lineIndent(start) : undefined, this.#style) });
      return;
    }
    const format = position.in === "member" ? formatAfterKey : formatAfterDash;
    const text = format(value, position.column, this.#style);
    const isInline = !text.startsWith("\n") && position.mark >= this.#lineStart(start);
    if (isInline) this.#edits.push({ start, end, text: this.#quoteLike(node, value) ?? text.slice(1) });
    else this.#edits.push({ start: position.mark + 1, end, text });
  }

  /** Formats a string with the quotes of the previous value. */
  #quoteLike(node: ParsedNode, value: unknown): string | undefined {
    if (typeof value !== "string" || !isScalar(node) || value.includes("\n")) return undefined;
    if (node.type === "QUOTE_DOUBLE") return JSON.stringify(value);
    return node.type === "QUOTE_SINGLE" ? `'${value.replaceAll("'", "''")}'` : undefined;
  }

  #spanOf(node: ParsedNode | null): Span {
    if (!node) throw new NotEditableError("a value is missing");
    return findSpan(node, this.#text);
  }

  #ownLine(at: number): number {
    if (!this.#isOnOwnLine(at)) throw new NotEditableError("shares its line with other content");
    return this.#lineStart(at);
  }

  #isOnOwnLine(at: number): boolean {
    return this.#text.slice(this.#lineStart(at), at).trim() === "";
  }

  #lineStart(at: number): number {
    return at <= 0 ? 0 : this.#text.lastIndexOf("\n", at - 1) + 1;
  }

  /** Returns the offset of the line break at the end of a line. */
  #lineEnd(at: number): number {
    const end = this.#text.indexOf("\n", at);
    if (end < 0) return this.#text.length;
    return end > at && this.#text[end - 1] === "\r" ? end - 1 : end;
  }

  #column(at: number): number {
    return at - this.#lineStart(at);
  }

  #lineIndent(at: number): number {
    return /^ */.exec(this.#text.slice(this.#lineStart(at)))?.[0].length ?? 0;
  }
}

function isCollection(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

/** Returns the indentation of the first field in multi-line JSON; 0 for one line without spaces. */
function detectIndent(text: string): number {
  const lines = /\{[ \t]*\r?\n([ ]+)"/.exec(text);
  if (lines) return lines[1]?.length ?? 4;
  return /":[ ]/.test(text) ? 2 : 0;
}
