import { noOverload, type RuleFunction } from "./functions.ts";
import type { StepMeter } from "./meter.ts";
import { Failure, isList, type Result, UnsupportedFailure, type Value } from "./values.ts";

/** Number of characters that one step reads or writes. */
const TEXT_STEP = 16;
/** Longer results would have cost more memory than the steps show. */
const LONGEST_TEXT = 4_000_000;

/**
 * Creates the functions of strings that Kubernetes adds to CEL, without `format` and `quote`. Positions count Unicode code points.
 * @see https://kubernetes.io/docs/reference/using-api/cel/ "CEL extended strings library"
 */
export function createTextFunctions(): ReadonlyMap<string, RuleFunction> {
  return new Map<string, RuleFunction>([
    ["charAt", getCharacter],
    ["join", joinTexts],
    ["lowerAscii", mapText("lowerAscii", (text) => text.replace(/[A-Z]+/g, (part) => part.toLowerCase()))],
    ["upperAscii", mapText("upperAscii", (text) => text.replace(/[a-z]+/g, (part) => part.toUpperCase()))],
    ["trim", mapText("trim", trimSpaces)],
    ["replace", replaceText],
    ["split", splitText],
    ["substring", cutText],
  ]);
}

/** Returns the first or last position of a part of a text, or -1; undefined if the arguments are not texts. */
export function findText(args: readonly Value[], meter: StepMeter, direction: "first" | "last"): Result | undefined {
  const [text, part, offset] = args;
  if (typeof text !== "string" || typeof part !== "string" || (offset !== undefined && typeof offset !== "bigint")) return undefined;
  meter.spend(1 + (text.length * Math.max(part.length, 1)) / TEXT_STEP);
  const [all, wanted] = [Array.from(text), Array.from(part)];
  const last = all.length - wanted.length;
  if (offset !== undefined && (offset < 0n || offset > all.length)) return new Failure(`index out of range: ${offset}`);
  const matches = (at: number): boolean => wanted.every((character, index) => all[at + index] === character);
  if (direction === "first") {
    for (let at = Number(offset ?? 0n); at <= last; at++) if (matches(at)) return BigInt(at);
  } else {
    for (let at = Math.min(last, Number(offset ?? BigInt(all.length))); at >= 0; at--) if (matches(at)) return BigInt(at);
  }
  return -1n;
}

function mapText(name: string, map: (text: string) => string): RuleFunction {
  return ([text], meter) => {
    if (typeof text !== "string") return noOverload(name, text);
    meter.spend(1 + text.length / TEXT_STEP);
    return map(text);
  };
}

/** Removes the white space of Unicode at both ends, as Go's unicode.IsSpace defines it, which excludes U+FEFF and includes U+0085. */
function trimSpaces(text: string): string {
  const isSpace = (character: string | undefined): boolean =>
    character !== undefined && /^[\s\u0085]$/u.test(character) && character !== "\uFEFF";
  let [start, end] = [0, text.length];
  while (start < end && isSpace(text[start])) start++;
  while (end > start && isSpace(text[end - 1])) end--;
  return text.slice(start, end);
}

function getCharacter([text, at]: readonly Value[], meter: StepMeter): Result {
  if (typeof text !== "string" || typeof at !== "bigint") return noOverload("charAt", text, at);
  meter.spend(1 + text.length / TEXT_STEP);
  const characters = Array.from(text);
  if (at < 0n || at > characters.length) return new Failure(`index out of range: ${at}`);
  return characters[Number(at)] ?? "";
}

function cutText([text, start, end]: readonly Value[], meter: StepMeter): Result {
  if (typeof text !== "string" || typeof start !== "bigint" || (end !== undefined && typeof end !== "bigint"))
    return noOverload("substring", text, start);
  meter.spend(1 + text.length / TEXT_STEP);
  const characters = Array.from(text);
  const until = end ?? BigInt(characters.length);
  if (start < 0n || start > characters.length || until < 0n || until > characters.length) return new Failure("index out of range");
  if (start > until) return new Failure(`invalid substring range. start: ${start}, end: ${until}`);
  return characters.slice(Number(start), Number(until)).join("");
}

function joinTexts([list = null, separator = ""]: readonly Value[], meter: StepMeter): Result {
  if (!isList(list) || typeof separator !== "string") return noOverload("join", list, separator);
  const texts = list.filter((item) => typeof item === "string");
  if (texts.length < list.length) return noOverload("join", list);
  meter.spend(1 + texts.reduce((sum, text) => sum + 1 + (text.length + separator.length) / TEXT_STEP, 0));
  return texts.join(separator);
}

function replaceText([text, from, to, limit = -1n]: readonly Value[], meter: StepMeter): Result {
  if (typeof text !== "string" || typeof from !== "string" || typeof to !== "string" || typeof limit !== "bigint")
    return noOverload("replace", text, from, to);
  meter.spend(1 + text.length / TEXT_STEP);
  if (limit === 0n) return text;
  if (from === "") return new UnsupportedFailure("replacing an empty text is not supported");
  const parts = text.split(from);
  const size = text.length + parts.length * to.length;
  meter.spend(size / TEXT_STEP);
  if (size > LONGEST_TEXT) return new UnsupportedFailure(`the result has more than ${LONGEST_TEXT} characters`);
  if (limit < 0n || limit >= parts.length - 1) return parts.join(to);
  const replaced = parts.slice(0, Number(limit) + 1).join(to);
  return [replaced, ...parts.slice(Number(limit) + 1)].join(from);
}

function splitText([text, separator, limit = -1n]: readonly Value[], meter: StepMeter): Result {
  if (typeof text !== "string" || typeof separator !== "string" || typeof limit !== "bigint") return noOverload("split", text, separator);
  meter.spend(1 + text.length / TEXT_STEP);
  if (limit === 0n) return [];
  const parts = separator === "" ? Array.from(text) : text.split(separator);
  meter.spend(parts.length);
  if (limit < 0n || limit >= parts.length) return parts;
  return [...parts.slice(0, Number(limit) - 1), parts.slice(Number(limit) - 1).join(separator)];
}
