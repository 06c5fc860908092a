import type { JsonObject } from "../api/k8s.ts";
import { goQuote } from "../errors/goQuote.ts";
import { foldKey } from "./keys.ts";
import type { Meta } from "./types.ts";

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

function namesByFold(blob: JsonObject): Map<string, string> {
  const names = new Map<string, string>();
  const duplicates = new Map<string, string[]>();
  for (const key of Object.keys(blob)) {
    const folded = foldKey(key);
    const other = names.get(folded);
    if (other === undefined) names.set(folded, key);
    else duplicates.set(folded, [...(duplicates.get(folded) ?? [other]), key]);
  }
  if (duplicates.size === 0) return names;
  const texts = [...duplicates].map(([folded, keys]) => `duplicate keys for key ${goQuote(folded)}: [${keys.sort().join(" ")}]`).sort();
  throw new Error(texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`);
}

function text(blob: JsonObject, key: string | undefined): string {
  if (key === undefined) return "";
  const value = blob[key];
  if (typeof value === "string") return value;
  const shown = typeof value === "number" || typeof value === "bigint" || typeof value === "boolean" ? `: ${value}` : "";
  throw new Error(`expected value for key ${goQuote(key)} to be a string, got ${kindOf(value)}${shown}`);
}
