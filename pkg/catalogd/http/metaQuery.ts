import type { MetaQuery } from "../store/contentIndex.ts";
import { queryPieces } from "./queryString.ts";

const PARAMETERS: ReadonlySet<string> = new Set(["schema", "package", "name"]);

/**
 * The filter in a query string (without its `?`). The first of a repeated parameter counts.
 * @returns undefined for a parameter of another name and for what is no query string: a broken escape, a semicolon.
 */
export function parseMetaQuery(query: string): MetaQuery | undefined {
  const found = new Map<string, string>();
  for (const [name, value] of queryPieces(query) ?? [["", ""]]) {
    if (!PARAMETERS.has(name)) return undefined;
    if (!found.has(name)) found.set(name, value);
  }
  return Object.fromEntries([...found].filter(([, value]) => value !== ""));
}
