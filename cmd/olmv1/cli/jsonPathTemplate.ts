/** A part of a template: text or code. */
export type PathPiece =
  | { kind: "text"; text: string }
  | { kind: "path"; path: string }
  | { kind: "range"; path: string; body: readonly PathPiece[] };

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };

/** Parses a template of `formatJsonPath`. Filters are not checked until they are applied. @throws Error for an invalid template. */
export function parseJsonPath(template: string): readonly PathPiece[] {
  return parsePieces(tokenize(template), false);
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
