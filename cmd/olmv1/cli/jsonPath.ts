import { JSONPath } from "jsonpath-plus";
import { getErrorMessage } from "../../../pkg/errors/errors.ts";
import { writeExactJson } from "../../../pkg/golang/json.ts";
import { isObject } from "../../../pkg/golang/members.ts";

/** A part of a template: text or code. */
type PathPiece =
  | { kind: "text"; text: string }
  | { kind: "path"; path: string }
  | { kind: "range"; path: string; body: readonly PathPiece[] };

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };

/**
 * Applies a template with the syntax of kubectl to `data`: text, `{.path}`, `{"text"}`, and `{range .path}…{end}`. Missing values are empty; several
 * values of a path are separated by spaces; objects and lists are JSON.
 * @throws Error for an invalid template.
 * @see https://kubernetes.io/docs/reference/kubectl/jsonpath/
 */
export function formatJsonPath(template: string, data: unknown): string {
  const tokens = tokenize(template);
  const pieces = parsePieces(tokens, false);
  return render(pieces, JSON.parse(writeExactJson(data)) as unknown);
}

/** Splits a template into text and code in braces. Braces inside quotes and filters are part of the code. */
function tokenize(template: string): { isCode: boolean; text: string }[] {
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
    const end = findCodeEnd(template, at + 1);
    tokens.push({ isCode: true, text: template.slice(at + 1, end).trim() });
    at = end + 1;
  }
  return tokens;
}

function findCodeEnd(template: string, from: number): number {
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

/** Consumes tokens up to the `end` of the current range. */
function parsePieces(tokens: { isCode: boolean; text: string }[], isRange: boolean): PathPiece[] {
  const pieces: PathPiece[] = [];
  for (let token = tokens.shift(); token; token = tokens.shift()) {
    const { isCode, text } = token;
    if (!isCode) pieces.push({ kind: "text", text });
    else if (text === "end") {
      if (!isRange) throw new Error("jsonpath: {end} without {range}");
      return pieces;
    } else if (/^range\s/.test(text)) pieces.push({ kind: "range", path: parsePath(text.slice(5)), body: parsePieces(tokens, true) });
    else if (/^["']/.test(text)) pieces.push({ kind: "text", text: unquote(text) });
    else if (text !== "") pieces.push({ kind: "path", path: parsePath(text) });
  }
  if (isRange) throw new Error("jsonpath: {range} without {end}");
  return pieces;
}

function unquote(text: string): string {
  if (text.length < 2 || text.at(-1) !== text[0]) throw new Error(`jsonpath: ${text} is not closed`);
  return text.slice(1, -1).replace(/\\(.)/g, (_, char: string) => ESCAPES[char] ?? char);
}

/** Converts a path for the library: it starts with `$`, and names with dots are in brackets. */
function parsePath(text: string): string {
  const path = text.trim().replace(/^\$/, "").replace(/^@/, "");
  if (path !== "" && !/^[.[]/.test(path))
    throw new Error(`jsonpath: "${text.trim()}" is not a path: start with a dot, such as {.metadata.name}`);
  return `$${path.replace(/\.((?:[^.[\\]|\\.)*\\\.(?:[^.[\\]|\\.)*)/g, (_, name: string) => `['${name.replaceAll("\\.", ".")}']`)}`.replace(
    /\.$/,
    "",
  );
}

function render(pieces: readonly PathPiece[], data: unknown): string {
  return pieces
    .map((piece) => {
      if (piece.kind === "text") return piece.text;
      const values = findValues(piece.path, data);
      return piece.kind === "path" ? values.map(formatValue).join(" ") : values.map((value) => render(piece.body, value)).join("");
    })
    .join("");
}

function findValues(path: string, data: unknown): unknown[] {
  if (path === "$") return [data];
  if (!isObject(data) && !Array.isArray(data)) return [];
  try {
    // "safe" evaluates filters without running them as code.
    return JSONPath<unknown[]>({ path, json: data, eval: "safe", wrap: true });
  } catch (err) {
    throw new Error(`jsonpath: {${path.slice(1)}}: ${getErrorMessage(err)}`, { cause: err });
  }
}

function formatValue(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
