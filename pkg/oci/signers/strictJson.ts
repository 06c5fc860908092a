import { getErrorMessage } from "../../errors/errors.ts";
import { findStringEnd } from "../../golang/json.ts";
import { goQuote } from "../../golang/quote.ts";

/** A text is not the expected JSON. The message quotes at most a member name. */
export class FormatError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** Decodes UTF-8. @throws FormatError */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (err) {
    throw new FormatError("invalid UTF-8", { cause: err });
  }
}

const MARK = /["{}[\],]/g;

/**
 * Parses JSON in which no object has duplicate member names, because two readers could use
 * different values.
 * @throws FormatError for invalid JSON, and `Duplicate key "…"`
 */
export function parseStrictJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (err) {
    throw new FormatError(`invalid JSON: ${getErrorMessage(err).replace(/, ".*$/s, "")}`, { cause: err });
  }
  refuseDuplicates(text);
  return value;
}

/**
 * Scans valid JSON text. Does not use a regular expression for strings, which would need stack
 * space for each escape of a long string.
 */
function refuseDuplicates(json: string): void {
  const open: (Set<string> | undefined)[] = [];
  let atKey = false;
  const marks = new RegExp(MARK);
  for (let match = marks.exec(json); match; match = marks.exec(json)) {
    const [mark] = match;
    if (mark === '"') {
      marks.lastIndex = findStringEnd(json, match.index) + 1;
      if (atKey) note(open.at(-1), JSON.parse(json.slice(match.index, marks.lastIndex)) as string);
      atKey = false;
    } else if (mark === "{" || mark === "[") {
      open.push(mark === "{" ? new Set() : undefined);
      atKey = mark === "{";
    } else if (mark === ",") atKey = open.at(-1) !== undefined;
    else {
      open.pop();
      atKey = false;
    }
  }
}

function note(keys: Set<string> | undefined, key: string): void {
  if (keys?.has(key)) throw new FormatError(`Duplicate key ${goQuote(key)}`);
  keys?.add(key);
}

/** Returns the members of a JSON object by name. @throws FormatError if it is not an object */
export function requireMembers(value: unknown): ReadonlyMap<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new FormatError("JSON object expected");
  return new Map(Object.entries(value));
}

/**
 * Returns the members of a JSON object that has all of `required` and only known members.
 * @throws FormatError `Unknown key "…"`, `Key "…" missing in a JSON object`
 */
export function readKnownMembers(
  value: unknown,
  required: readonly string[],
  optional: readonly string[] = [],
): ReadonlyMap<string, unknown> {
  const members = requireMembers(value);
  for (const key of members.keys())
    if (!required.includes(key) && !optional.includes(key)) throw new FormatError(`Unknown key ${goQuote(key)}`);
  for (const key of required) if (!members.has(key)) throw new FormatError(`Key ${goQuote(key)} missing in a JSON object`);
  return members;
}

/** Returns a string member. @throws FormatError */
export function requireText(members: ReadonlyMap<string, unknown>, key: string): string {
  const value = members.get(key);
  if (typeof value !== "string") throw new FormatError(`Key ${goQuote(key)} is not a string`);
  return value;
}

/** Returns a member that is a list with at least one string. @throws FormatError */
export function readTextsMember(members: ReadonlyMap<string, unknown>, key: string): string[] {
  const value = members.get(key);
  if (!Array.isArray(value) || !value.every((item): item is string => typeof item === "string"))
    throw new FormatError(`Key ${goQuote(key)} is not a list of strings`);
  if (value.length === 0) throw new FormatError(`${goQuote(key)} contains no entries`);
  return value;
}
