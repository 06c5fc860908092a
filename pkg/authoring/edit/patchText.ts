import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../../api/k8s.ts";
import { canonicalJson, numberToken } from "../../golang/json.ts";
import { isObject } from "../../golang/members.ts";
import { toYaml } from "../../golang/yaml.ts";
import { type ListNode, type MapNode, NotEditableError, type TextNode, textNode } from "./textNode.ts";

/** What became of a list: each old item with its place in the new one, or without one where it is gone. New items are those that no old one became. */
export type Alignment = ReadonlyMap<number, number>;

/** More pairs than this are not compared for the best alignment; then only what the lists begin and end with is kept. */
const MAX_PAIRS = 4_000_000;

/** Aligns the items of two lists in order, as many as possible; objects with a name are the same while they have it. */
function aligned(before: readonly unknown[], after: readonly unknown[]): Alignment {
  const old = before.map(identity);
  const now = after.map(identity);
  const pairs = new Map<number, number>();
  let first = 0;
  while (first < old.length && first < now.length && old[first] === now[first]) pairs.set(first, first++);
  let last = 0;
  while (last < old.length - first && last < now.length - first && old[old.length - 1 - last] === now[now.length - 1 - last]) last++;
  for (let i = 1; i <= last; i++) pairs.set(old.length - i, now.length - i);
  for (const [i, j] of longestCommon(old.slice(first, old.length - last), now.slice(first, now.length - last)))
    pairs.set(first + i, first + j);
  return pairs;
}

function longestCommon(a: readonly string[], b: readonly string[]): [number, number][] {
  if (a.length * b.length > MAX_PAIRS) return [];
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  const at = (i: number, j: number): number => lengths[i]?.[j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      (lengths[i] as Uint32Array)[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const pairs: [number, number][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) pairs.push([i++, j++]);
    else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
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

/** Whether two values are the same, whatever the order of their members. */
export function isSame(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(a, b);
}

/** How the values around a change are written. */
interface Surroundings {
  /** JSON texts: quoted keys, in braces. */
  readonly json: boolean;
  /** Of a level in JSON over several lines; 0 for all on one line. */
  readonly indent: number;
  /** Of lists in block style, which stand no deeper than their keys. */
  readonly compactLists: boolean;
}

/** Whether lists that are members stand no deeper than their keys in a text of YAML. */
export function hasCompactLists(text: string): boolean {
  return /^([ \t]*)[^\s#-][^\n#]*:[ \t]*(?:#[^\n]*)?\n\1- /m.test(text);
}

/** `key: value` in block style, lines after the first indented by `column`. */
function blockMember(key: string, value: unknown, column: number, style: Surroundings): string {
  return indented(toYaml({ [key]: value }, style), column);
}

/** `- value` in block style, lines after the first indented by `column`. */
function blockItem(value: unknown, column: number, style: Surroundings): string {
  return indented(toYaml([value], style), column);
}

/** What stands behind `key:` in block style, a blank or newline first. */
function behindKey(value: unknown, column: number, style: Surroundings): string {
  return blockMember("k", value, column, style).slice("k:".length);
}

/** What stands behind the dash of an item in block style, a blank first. */
function behindDash(value: unknown, column: number, style: Surroundings): string {
  return blockItem(value, column, style).slice("-".length);
}

/** `value` inside brackets: as JSON, over several lines where `column`, that of its first character, is given; else as YAML on one line. */
function flowValue(value: unknown, column: number | undefined, { json, indent }: Surroundings): string {
  // By itself a text may hold what ends it inside brackets.
  if (!json) return toYaml([value], { flow: true }).trimEnd().slice(1, -1);
  return column === undefined || indent === 0 ? oneLineJson(value, indent > 0) : indented(prettyJson(value, indent), column);
}

/** `value` as JSON over several lines. Numbers keep their digits. */
export function prettyJson(value: unknown, indent: number): string {
  const written = (inner: unknown, level: number): string => {
    const pad = " ".repeat(indent * (level + 1));
    const end = `\n${" ".repeat(indent * level)}`;
    if (typeof inner !== "object" || inner === null || numberToken(inner) !== undefined) return plainJson(inner);
    const members = Array.isArray(inner)
      ? inner.map((item) => written(item, level + 1))
      : Object.entries(inner).map(([key, member]) => `${JSON.stringify(key)}: ${written(member, level + 1)}`);
    const [open, close] = Array.isArray(inner) ? ["[", "]"] : ["{", "}"];
    if (members.length === 0) return open + close;
    return `${open}\n${members.map((member) => pad + member).join(",\n")}${end}${close}`;
  };
  return written(value, 0);
}

function oneLineJson(value: unknown, spaced: boolean): string {
  const comma = spaced ? ", " : ",";
  const colon = spaced ? ": " : ":";
  if (typeof value !== "object" || value === null || numberToken(value) !== undefined) return plainJson(value);
  if (Array.isArray(value)) return `[${value.map((item) => oneLineJson(item, spaced)).join(comma)}]`;
  const members = Object.entries(value).map(([key, member]) => JSON.stringify(key) + colon + oneLineJson(member, spaced));
  return `{${members.join(comma)}}`;
}

function plainJson(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : canonicalJson(value);
}

function indented(text: string, column: number): string {
  const [first = "", ...more] = text.trimEnd().split("\n");
  const pad = " ".repeat(column);
  return [first, ...more.map((line) => (line === "" ? line : pad + line))].join("\n");
}

/** Where a value stands: behind a key or dash in block style at that column, or inside brackets. */
type Position = { readonly in: "member" | "item"; readonly column: number } | { readonly in: "flow" } | { readonly in: "document" };

interface TextEdit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * The text of one document with only that changed in which `after` differs from `before`; comments, order and form of all else are kept.
 * @param text holds `before` and nothing else. @param json whether it is JSON.
 * @throws NotEditableError where what has to change is written in a way that is not edited in place.
 */
export function patchedText(text: string, before: JsonObject, after: JsonObject, json: boolean): string {
  return new TextPatch(text, json).patched(before, after);
}

class TextPatch {
  readonly #text: string;
  readonly #root: TextNode;
  readonly #style: Surroundings;
  readonly #edits: TextEdit[] = [];

  constructor(text: string, json: boolean) {
    this.#text = text;
    this.#root = textNode(text);
    this.#style = { json, indent: indentOf(text), compactLists: hasCompactLists(text) };
  }

  patched(before: JsonObject, after: JsonObject): string {
    this.#change(this.#root, before, after, { in: "document" });
    let text = "";
    let from = 0;
    for (const edit of this.#edits.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
      if (edit.start < from) throw new NotEditableError("changes overlap");
      text += this.#text.slice(from, edit.start) + edit.text;
      from = edit.end;
    }
    return text + this.#text.slice(from);
  }

  #change(node: TextNode, before: unknown, after: unknown, position: Position): void {
    if (isSame(before, after)) return;
    if (node.kind === "map" && isObject(before) && isObject(after) && this.#changeMap(node, before, after)) return;
    if (node.kind === "list" && Array.isArray(before) && Array.isArray(after) && this.#changeList(node, before, after)) return;
    this.#replace(node, after, position);
  }

  /** @returns whether something of it stays. */
  #changeMap(node: MapNode, before: JsonObject, after: JsonObject): boolean {
    const kept = node.pairs.filter(({ name }) => Object.hasOwn(after, name));
    if (kept.length === 0) return false;
    if (new Set(node.pairs.map(({ name }) => name)).size < node.pairs.length) throw new NotEditableError("a key is repeated");
    for (const { key, name, value } of kept) {
      const position: Position = node.flow ? { in: "flow" } : { in: "member", column: this.#column(key.start) };
      this.#change(value, before[name], after[name], position);
    }
    const spans = node.pairs.map(({ key, value }) => ({ start: key.start, end: value.end }));
    const isKept = (i: number): boolean => Object.hasOwn(after, node.pairs[i]?.name ?? "");
    const last = node.pairs.findLastIndex((_, i) => isKept(i));
    const added = Object.entries(after).filter(([name]) => !node.pairs.some((pair) => pair.name === name));
    const column = this.#column(node.pairs[0]?.key.start ?? 0);
    for (const [name, value] of added) {
      if (node.flow) this.#insertInFlow(node, spans, last, (at) => this.#flowPair(name, value, at));
      else this.#insertLine(this.#lineEnd(spans[last]?.end ?? 0), column, blockMember(name, value, column, this.#style));
    }
    this.#removeSpans(node, spans, isKept, last);
    return true;
  }

  #changeList(node: ListNode, before: readonly unknown[], after: readonly unknown[]): boolean {
    const pairs = aligned(before, after);
    if (pairs.size === 0 || node.items.length !== before.length) return false;
    const column = this.#column(node.start);
    const position: Position = node.flow ? { in: "flow" } : { in: "item", column };
    for (const [i, j] of pairs) this.#change(node.items[i] as TextNode, before[i], after[j], position);
    const spans = node.items.map(({ start, end }) => ({ start: node.flow ? start : this.#dash(start, column), end }));
    const became = new Map([...pairs].map(([i, j]) => [j, i]));
    let previous = -1;
    for (const [j, value] of after.entries()) {
      const old = became.get(j);
      if (old !== undefined) previous = old;
      else this.#insertItem(node, spans, { previous, next: Math.min(...pairs.keys()) }, value);
    }
    const last = Math.max(...pairs.keys());
    this.#removeSpans(node, spans, (i) => pairs.has(i), last);
    return true;
  }

  /** Inserts behind the item `previous`, or before `next` where that is -1. */
  #insertItem(node: ListNode, spans: readonly Span[], { previous, next }: { previous: number; next: number }, value: unknown): void {
    const column = this.#column(node.start);
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

  /** @param written is given the column where it begins, undefined where all is on one line. */
  #insertInFlow(node: MapNode | ListNode, spans: readonly Span[], previous: number, written: (column?: number) => string, next = 0): void {
    const anchor = spans[Math.max(previous, next)]?.start ?? 0;
    const lines = this.#text.slice(node.start, anchor).includes("\n");
    const column = this.#column(anchor);
    const text = written(lines ? column : undefined);
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
      else if (!node.flow) throw new NotEditableError("what is removed stands on the line of something else");
    }
  }

  /** @param contentEnd after which there must be no comment. */
  #remove(start: number, end: number, contentEnd = end): void {
    if (this.#text.slice(contentEnd, end).includes("#")) throw new NotEditableError("a comment would be lost");
    this.#edits.push({ start, end, text: "" });
  }

  #removeLines(start: number, end: number): void {
    const lineEnd = this.#lineEnd(end);
    const lineStart = this.#ownLine(start);
    if (lineEnd < this.#text.length) this.#edits.push({ start: lineStart, end: lineEnd + 1, text: "" });
    else this.#edits.push({ start: Math.max(0, lineStart - 1), end: lineEnd, text: "" });
  }

  #replace(node: TextNode, value: unknown, position: Position): void {
    if (position.in === "document") throw new NotEditableError("nothing of it stays");
    if (position.in === "flow" || this.#style.json) {
      const lines = this.#text.slice(node.start, node.end).includes("\n") || isCollection(value);
      this.#edits.push({
        start: node.start,
        end: node.end,
        text: flowValue(value, lines ? this.#lineIndent(node.start) : undefined, this.#style),
      });
      return;
    }
    const behind = position.in === "member" ? behindKey : behindDash;
    const text = behind(value, position.column, this.#style);
    const isInline = !text.startsWith("\n") && this.#isOnLineOf(node, position);
    if (isInline) this.#edits.push({ start: node.start, end: node.end, text: this.#quotedAlike(node, value) ?? text.slice(1) });
    else this.#edits.push({ start: this.#behindMark(node.start, position), end: node.end, text });
  }

  /** A text in the quotes that the one before it had. */
  #quotedAlike(node: TextNode, value: unknown): string | undefined {
    if (typeof value !== "string" || node.kind !== "scalar" || value.includes("\n")) return undefined;
    if (node.style === "double") return JSON.stringify(value);
    return node.style === "single" ? `'${value.replaceAll("'", "''")}'` : undefined;
  }

  #isOnLineOf(node: TextNode, position: Position): boolean {
    return this.#behindMark(node.start, position) > this.#lineStart(node.start);
  }

  /** Behind the colon or dash that comes before a value. */
  #behindMark(start: number, position: Position): number {
    const at = this.#text.lastIndexOf(position.in === "member" ? ":" : "-", start - 1);
    if (at < 0 || /[^\s]/.test(this.#text.slice(at + 1, start).replaceAll(/#.*$/gm, "")))
      throw new NotEditableError("no mark before a value");
    return at + 1;
  }

  /** The dash of the item that begins at `start`, in a list at `column`. */
  #dash(start: number, column: number): number {
    for (let line = this.#lineStart(start); ; line = this.#lineStart(line - 1)) {
      if (this.#text[line + column] === "-" && line + column < start) return line + column;
      if (line === 0) throw new NotEditableError("an item has no dash");
    }
  }

  #ownLine(at: number): number {
    if (!this.#isOnOwnLine(at)) throw new NotEditableError("it stands on the line of something else");
    return this.#lineStart(at);
  }

  #isOnOwnLine(at: number): boolean {
    return this.#text.slice(this.#lineStart(at), at).trim() === "";
  }

  #lineStart(at: number): number {
    return at <= 0 ? 0 : this.#text.lastIndexOf("\n", at - 1) + 1;
  }

  #lineEnd(at: number): number {
    const end = this.#text.indexOf("\n", at);
    return end < 0 ? this.#text.length : end;
  }

  #column(at: number): number {
    return at - this.#lineStart(at);
  }

  #lineIndent(at: number): number {
    return /^ */.exec(this.#text.slice(this.#lineStart(at)))?.[0].length ?? 0;
  }
}

interface Span {
  readonly start: number;
  readonly end: number;
}

function isCollection(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

/** Of the first member of a JSON text over several lines; 0 for one line without blanks. */
function indentOf(text: string): number {
  const lines = /\{[ \t]*\r?\n([ ]+)"/.exec(text);
  if (lines) return lines[1]?.length ?? 4;
  return /":[ ]/.test(text) ? 2 : 0;
}
