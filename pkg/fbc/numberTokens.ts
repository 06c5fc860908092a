import { isObject } from "../api/jsonObject.ts";
import { foldKey, memberOf } from "./keys.ts";

/** The property whose number is read as it is written, since 4.10 is another version than 4.1. */
const TYPE = "olm.maxOpenShiftVersion";

/** A number with the text it was written with; `JSON.stringify` writes that. */
interface RawJson {
  readonly rawJSON: string;
}

type Reviver = (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown;

/** The part of JSON that the compiler's library does not know yet. */
interface SourceAccess {
  parse(text: string, reviver: Reviver): unknown;
  rawJSON(text: string): RawJson;
  isRawJSON(value: unknown): value is RawJson;
}

/**
 * `value`, parsed from the JSON `text`, with the number of property olm.maxOpenShiftVersion as it is written. Every other number, and every
 * document without one there, stays as it was parsed; only such a document is parsed again.
 */
export function withNumberTokens(value: unknown, text: string): unknown {
  if (!hasNumber(value)) return value;
  const json = sourceAccess();
  return json.parse(text, function (key, member, { source }) {
    const isToken = typeof member === "number" && source !== undefined && isTyped(this) && foldKey(key) === "value";
    return isToken ? json.rawJSON(source) : member;
  });
}

/** The text of a number that `withNumberTokens` kept; undefined for everything else. */
export function numberToken(value: object): string | undefined {
  const json = sourceAccess();
  return "rawJSON" in value && json.isRawJSON(value) ? value.rawJSON : undefined;
}

function hasNumber(value: unknown): boolean {
  if (!isObject(value)) return false;
  const properties = memberOf(value, "properties");
  return Array.isArray(properties) && properties.some((property) => isTyped(property) && typeof memberOf(property, "value") === "number");
}

function isTyped(value: unknown): value is Record<string, unknown> {
  return isObject(value) && memberOf(value, "type") === TYPE;
}

function sourceAccess(): SourceAccess {
  return JSON as unknown as SourceAccess;
}
