import { isObject } from "../../api/jsonObject.ts";

/**
 * The strings and numbers in a JSON value as texts, each once; names of members, truth values and null are not among them.
 * @param max stop after so many.
 */
export function scalarTexts(value: unknown, max = Number.POSITIVE_INFINITY): Set<string> {
  const found = new Set<string>();
  const waiting = [value];
  while (waiting.length > 0 && found.size < max) {
    const next = waiting.pop();
    if (Array.isArray(next)) for (const entry of next) waiting.push(entry);
    else if (isObject(next)) for (const entry of Object.values(next)) waiting.push(entry);
    else if (typeof next === "string" || typeof next === "number" || typeof next === "bigint") found.add(String(next));
  }
  return found;
}
