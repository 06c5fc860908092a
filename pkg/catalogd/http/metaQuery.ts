import type { MetaQuery } from "../contentIndex.ts";

const PARAMETERS: ReadonlySet<string> = new Set(["schema", "package", "name"]);

/**
 * The filter in a query string (without its `?`). The first of a repeated parameter counts.
 * @returns undefined for a parameter of another name and for what is no query string: a broken escape, a semicolon.
 */
export function parseMetaQuery(query: string): MetaQuery | undefined {
  const found = new Map<string, string>();
  for (const piece of query.split("&")) {
    if (piece === "") continue;
    if (piece.includes(";")) return undefined;
    const equals = piece.indexOf("=");
    const name = unescaped(equals < 0 ? piece : piece.slice(0, equals));
    const value = unescaped(equals < 0 ? "" : piece.slice(equals + 1));
    if (name === undefined || value === undefined || !PARAMETERS.has(name)) return undefined;
    if (!found.has(name)) found.set(name, value);
  }
  return Object.fromEntries([...found].filter(([, value]) => value !== ""));
}

function unescaped(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}
