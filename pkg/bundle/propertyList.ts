import { goJson } from "../fbc/canonical.ts";
import { goJsonFault } from "../fbc/goJsonSyntax.ts";
import { jsonMismatch } from "./goValues.ts";

const SPACE = /[ \t\r\n]/;
const ESCAPED = /[<>&\u2028\u2029]/g;

/** One property with its value as the text of the JSON token, so that the number 4.10 stays 4.10; the empty text where there is no value. */
export interface RawProperty {
  readonly type: string;
  readonly value: string;
}

/**
 * The properties in the text of an annotation `olm.properties`, in order; none for the text `null`. Keys are taken in any letter case, of a
 * repeated key the last one counts, a null in place of a property or of a type is an empty one, as Go's decoder has it.
 * @throws Error in the words of Go's encoding/json when the text is no JSON list of properties; at most one character of it is quoted.
 */
export function rawProperties(text: string): RawProperty[] {
  const fault = goJsonFault(text);
  if (fault !== undefined) throw new Error(fault);
  const list = text.trim();
  if (list === "null") return [];
  if (!list.startsWith("[")) throw jsonMismatch(sample(list), "[]property.Property");
  return partsOf(list).map(propertyFrom);
}

/** `properties` as Go's `json.Marshal` prints the list: values without white space around their tokens, otherwise as they are written. */
export function propertiesText(properties: readonly RawProperty[]): string {
  if (properties.length === 0) return "null";
  const items = properties.map(({ type, value }) => `{"type":${goJson(type)},"value":${value === "" ? "null" : compacted(value)}}`);
  return `[${items.join(",")}]`;
}

function propertyFrom(item: string): RawProperty {
  const property = { type: "", value: "" };
  if (item === "null") return property;
  if (!item.startsWith("{")) throw jsonMismatch(sample(item), "property.Property");
  const parts = partsOf(item);
  for (let i = 0; i + 1 < parts.length; i += 2) {
    const name = String(JSON.parse(parts[i] ?? "")).toLowerCase();
    const value = parts[i + 1] ?? "";
    if (name === "value") property.value = value;
    if (name !== "type" || value === "null") continue;
    if (!value.startsWith('"')) throw jsonMismatch(sample(value), "string").within("Property", "type");
    property.type = String(JSON.parse(value));
  }
  return property;
}

/** A value of the kind that the JSON token is of. */
function sample(token: string): unknown {
  if (token.startsWith("{")) return {};
  if (token.startsWith("[")) return [];
  if (token.startsWith('"')) return "";
  return token === "true" || token === "false" ? token === "true" : 0;
}

/** The tokens inside the brackets of `json`, a valid object or list: the elements, or keys and values by turns. */
function partsOf(json: string): string[] {
  const parts: string[] = [];
  const end = json.length - 1;
  let depth = 0;
  let start = 1;
  for (let at = 1; at <= end; at++) {
    const char = json[at];
    if (char === '"') at = stringEnd(json, at);
    else if (char === "{" || char === "[") depth++;
    else if (depth === 0 && (char === "," || char === ":" || at === end)) {
      const part = json.slice(start, at).trim();
      if (part !== "") parts.push(part);
      start = at + 1;
    } else if (char === "}" || char === "]") depth--;
  }
  return parts;
}

/** Valid JSON on one line, with `<`, `>`, `&` and the two line separators escaped as Go escapes them. */
function compacted(json: string): string {
  let text = "";
  let start = 0;
  for (let at = 0; at < json.length; at++) {
    if (json[at] === '"') at = stringEnd(json, at);
    else if (SPACE.test(json[at] ?? "")) {
      text += json.slice(start, at);
      start = at + 1;
    }
  }
  return (text + json.slice(start)).replace(ESCAPED, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Where the string that begins at `from` has its closing quote. */
function stringEnd(json: string, from: number): number {
  let at = from + 1;
  while (json[at] !== '"') at += json[at] === "\\" ? 2 : 1;
  return at;
}
