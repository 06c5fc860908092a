import { JSONPath } from "jsonpath-plus";
import { messageOf } from "../../../pkg/errors/errors.ts";
import { writeExactJson } from "../../../pkg/golang/json.ts";
import { isObject } from "../../../pkg/golang/members.ts";

/** A piece of a template. */
type Piece = { kind: "text"; text: string } | { kind: "path"; path: string } | { kind: "range"; path: string; body: readonly Piece[] };

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };

/**
 * What a template of kubectl's gives for `data`: text, `{.path}`, `{"text"}`, and `{range .path}…{end}`. What is not there gives nothing; several
 * values of a path have a blank between them, objects and lists are JSON.
 * @throws Error that says what of the template is wrong.
 * @see https://kubernetes.io/docs/reference/kubectl/jsonpath/
 */
export function jsonPathText(template: string, data: unknown): string {
  const tokens = tokensOf(template);
  const pieces = piecesOf(tokens, false);
  return render(pieces, JSON.parse(writeExactJson(data)) as unknown);
}

/** Text outside of braces, and what is in them, braces in quotes or in brackets of a filter excepted. */
function tokensOf(template: string): { isCode: boolean; text: string }[] {
  const tokens: { isCode: boolean; text: string }[] = [];
  let at = 0;
  while (at < template.length) {
    if (template[at] !== "{") {
      const next = template.indexOf("{", at);
      const end = next < 0 ? template.length : next;
      tokens.push({ isCode: false, text: template.slice(at, end) });
      at = end;
      continue;
    }
    const end = endOfCode(template, at + 1);
    tokens.push({ isCode: true, text: template.slice(at + 1, end).trim() });
    at = end + 1;
  }
  return tokens;
}

function endOfCode(template: string, from: number): number {
  let quote = "";
  for (let at = from; at < template.length; at++) {
    const char = template[at] as string;
    if (quote !== "") {
      if (char === "\\") at++;
      else if (char === quote) quote = "";
    } else if (char === '"' || char === "'") quote = char;
    else if (char === "}") return at;
  }
  throw new Error(`jsonpath: "{" at position ${from} is not closed`);
}

/** Takes tokens from the front, up to the `end` of the range that it is in. */
function piecesOf(tokens: { isCode: boolean; text: string }[], isRange: boolean): Piece[] {
  const pieces: Piece[] = [];
  for (let token = tokens.shift(); token; token = tokens.shift()) {
    const { isCode, text } = token;
    if (!isCode) pieces.push({ kind: "text", text });
    else if (text === "end") {
      if (!isRange) throw new Error("jsonpath: {end} without {range}");
      return pieces;
    } else if (/^range\s/.test(text)) pieces.push({ kind: "range", path: pathOf(text.slice(5)), body: piecesOf(tokens, true) });
    else if (/^["']/.test(text)) pieces.push({ kind: "text", text: unquoted(text) });
    else if (text !== "") pieces.push({ kind: "path", path: pathOf(text) });
  }
  if (isRange) throw new Error("jsonpath: {range} without {end}");
  return pieces;
}

function unquoted(text: string): string {
  if (text.length < 2 || text.at(-1) !== text[0]) throw new Error(`jsonpath: ${text} is not closed`);
  return text.slice(1, -1).replace(/\\(.)/g, (_, char: string) => ESCAPES[char] ?? char);
}

/** A path as the library has it: it begins with `$`, and a dot within a name is written in brackets. */
function pathOf(text: string): string {
  const path = text.trim().replace(/^\$/, "").replace(/^@/, "");
  if (path !== "" && !/^[.[]/.test(path))
    throw new Error(`jsonpath: "${text.trim()}" is no path: one begins with a dot, such as {.metadata.name}`);
  return `$${path.replace(/\.((?:[^.[\\]|\\.)*\\\.(?:[^.[\\]|\\.)*)/g, (_, name: string) => `['${name.replaceAll("\\.", ".")}']`)}`.replace(
    /\.$/,
    "",
  );
}

function render(pieces: readonly Piece[], data: unknown): string {
  return pieces
    .map((piece) => {
      if (piece.kind === "text") return piece.text;
      const values = valuesAt(piece.path, data);
      return piece.kind === "path" ? values.map(shown).join(" ") : values.map((value) => render(piece.body, value)).join("");
    })
    .join("");
}

function valuesAt(path: string, data: unknown): unknown[] {
  if (path === "$") return [data];
  if (!isObject(data) && !Array.isArray(data)) return [];
  try {
    // "safe" evaluates filters without running them as code.
    return JSONPath<unknown[]>({ path, json: data, eval: "safe", wrap: true });
  } catch (err) {
    throw new Error(`jsonpath: {${path.slice(1)}}: ${messageOf(err)}`, { cause: err });
  }
}

function shown(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
