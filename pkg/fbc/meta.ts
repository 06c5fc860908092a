import type { JsonObject } from "../api/k8s.ts";
import { goQuote } from "../golang/quote.ts";
import { excerpt } from "./excerpt.ts";
import { foldCase } from "./keys.ts";
import type { Meta } from "./types.ts";

const MAX_LISTED = 10;

/**
 * One decoded document as a meta: schema, package and name are found whatever the case of their keys.
 * @throws Error when it is no object, when two keys differ only in case, or when one of the three is no string.
 * @see operator-registry alpha/declcfg/declcfg.go, Meta.UnmarshalJSON
 */
export function metaFrom(value: unknown): Meta {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error(`expected an object, got ${kindOf(value)}`);
  const blob = value as JsonObject;
  const names = namesByFold(blob);
  return { schema: text(blob, names.get("schema")), package: text(blob, names.get("package")), name: text(blob, names.get("name")), blob };
}

/** What JSON calls the kind of `value`, with its article. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  return typeof value === "bigint" ? "a number" : `a ${typeof value}`;
}

/** That `value` is not what was expected, such as "a string". */
export function wrongKind(value: unknown, expected: string): string {
  return `expected ${expected}, got ${shownKind(value)}${expected === "a string" ? quoteHint(value) : ""}`;
}

function shownKind(value: unknown): string {
  return isPlain(value) ? `${kindOf(value)}: ${value}` : kindOf(value);
}

/** What to do about text that has become something else since it stands in YAML without quotes. */
function quoteHint(value: unknown): string {
  if (!isPlain(value)) return "";
  const why = typeof value === "boolean" ? "yes, no, on and off are booleans" : "1.10 is the number 1.1, and 1.0 is 1";
  return `; put it in quotes: without them ${why} in YAML`;
}

function isPlain(value: unknown): value is number | bigint | boolean {
  return typeof value === "number" || typeof value === "bigint" || typeof value === "boolean";
}

function namesByFold(blob: JsonObject): Map<string, string> {
  const names = new Map<string, string>();
  const duplicates = new Map<string, string[]>();
  for (const key of Object.keys(blob)) {
    const folded = foldCase(key);
    const other = names.get(folded);
    const known = duplicates.get(folded);
    if (other === undefined) names.set(folded, key);
    else if (known) known.push(key);
    else duplicates.set(folded, [other, key]);
  }
  if (duplicates.size === 0) return names;
  const texts = [...duplicates].map(duplicateText).sort();
  throw new Error(texts.length === 1 ? texts[0] : `[${shortList(texts, ", ")}]`);
}

function duplicateText([folded, keys]: [string, string[]]): string {
  return `duplicate keys for key ${goQuote(excerpt(folded))}: [${shortList(keys.sort().map(excerpt), " ")}]`;
}

function shortList(texts: readonly string[], separator: string): string {
  const more = texts.length - MAX_LISTED;
  return [...texts.slice(0, MAX_LISTED), ...(more > 0 ? [`… ${more} more`] : [])].join(separator);
}

function text(blob: JsonObject, key: string | undefined): string {
  if (key === undefined) return "";
  const value = blob[key];
  if (typeof value === "string") return value;
  throw new Error(`expected value for key ${goQuote(key)} to be a string, got ${shownKind(value)}${quoteHint(value)}`);
}
