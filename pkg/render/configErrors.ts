import { goQuote } from "../golang/quote.ts";
import { findSimilarName } from "../text/compare.ts";
import { formatCount, formatList } from "../text/lists.ts";
import type { SchemaFailure } from "./jsonSchema.ts";

/** Maximum number of sentences in addition to those of operator-controller. Other mistakes are reported after these are fixed. */
const MAX_DETAILS = 20;
const BULLET = "\n  - ";
/** Maximum number of unknown fields of one object to compare with known names. Further fields are not shown. */
const MAX_COMPARED = MAX_DETAILS + 1;
/** Maximum characters of operator-controller's text: messages are truncated at this many bytes. */
const MAX_SENTENCES_LENGTH = 32_768;

/** The lines of an error text. */
interface Lines {
  /** Operator-controller's sentences. */
  readonly sentences: string[];
  sentencesLength: number;
  /** Details that the sentences omit. */
  readonly details: string[];
}

/** The errors of a configuration. */
export interface ConfigErrors {
  /** The text of the Go operator-controller. */
  readonly text: string;
  /** The text with the details that it omits: errors inside references, further unknown or missing fields, their paths, similar names. */
  readonly fullText: string;
  /** The innermost errors in the order of the configuration, at most MAX_DETAILS. */
  readonly mistakes: { path: string; message: string }[];
}

/**
 * Describes all errors of a configuration in a stable order.
 * @param failures at least one failure.
 * @param remarks additional sentences by the field of the configuration that they explain.
 * @see operator-controller df2c201d internal/operator-controller/config formatSchemaError
 */
export function toConfigErrors(failures: readonly SchemaFailure[], remarks: ReadonlyMap<string, string> = new Map()): ConfigErrors {
  const lines: Lines = { sentences: [], sentencesLength: 0, details: [] };
  for (const failure of failures) describeFailure(failure, remarks, lines);
  const { sentences, details } = lines;
  const text = sentences.length === 1 ? (sentences[0] ?? "") : `multiple errors found:${BULLET}${sentences.join(BULLET)}`;
  const more = [...new Set([...details, ...remarks.values()])];
  const mistakes = failures.flatMap(listInnermost).slice(0, MAX_DETAILS);
  if (more.length === 0) return { text, fullText: text, mistakes };
  if (more.length === 1 && sentences.length === 1) return { text, fullText: `${text}; ${more[0]}`, mistakes };
  return { text, fullText: `${text}; in detail:${BULLET}${formatList(more, { max: MAX_DETAILS, separator: BULLET })}`, mistakes };
}

function listInnermost({ fault, path, causes }: SchemaFailure): ConfigErrors["mistakes"] {
  const at = (names: readonly string[], message: string): ConfigErrors["mistakes"][number] => ({ path: fieldPath(names), message });
  if (fault.keyword === "required") return fault.missing.map((name) => at([...path, name], "required field is missing"));
  if (fault.keyword === "additionalProperties") {
    const hints = fault.unknown.map((name, index) => similarHint(name, index, fault.known, path));
    const isExplained = fault.known.length === 0 || hints.some((hint) => hint !== "");
    const fields = isExplained ? "" : `; ${knownFields(fault.known, path)}`;
    return fault.unknown.map((name, index) => {
      const hint = hints[index] === "" ? "" : `, ${hints[index]}`;
      return at([...path, name], `unknown field${hint}${index === 0 ? fields : ""}`);
    });
  }
  if (causes.length > 0 && fault.keyword !== "oneOf") return causes.flatMap(listInnermost);
  return [at(path, sentence({ fault, path, causes }))];
}

/** Adds the lines of a failure, unless the sentences already exceed the length of a message. */
function describeFailure(failure: SchemaFailure, remarks: ReadonlyMap<string, string>, lines: Lines): void {
  if (lines.sentencesLength > MAX_SENTENCES_LENGTH) return;
  const { fault, path, causes } = failure;
  const text = sentence(failure);
  lines.sentences.push(text);
  lines.sentencesLength += text.length;
  // For these two keywords, the text of the Go implementation omits the path and all names except the first.
  if (fault.keyword === "required") {
    add(lines, missingFields(path, path.length > 0 ? fault.missing : fault.missing.slice(1)));
  }
  if (fault.keyword === "additionalProperties") add(lines, unknownFields(failure, path.length === 0 ? remarks : undefined));
  if (fault.keyword === "$ref" && causes.length === 1) {
    for (const cause of causes) add(lines, listDetails(cause));
    return;
  }
  for (const cause of causes) describeFailure(cause, remarks, lines);
}

function add({ details }: Lines, more: readonly string[]): void {
  for (const line of more) details.push(line);
}

/** Returns the sentences of the innermost errors with full paths. */
function listDetails(failure: SchemaFailure): string[] {
  const { fault, path, causes } = failure;
  if (fault.keyword === "required") return missingFields(path, fault.missing);
  if (fault.keyword === "additionalProperties") return unknownFields(failure);
  if (fault.keyword === "oneOf") return [`invalid value for field ${goQuote(fieldPath(path))}`];
  return causes.length > 0 ? causes.flatMap(listDetails) : [sentence(failure)];
}

/** @param remarks remarks about the root object, whose first unknown field is already in the sentences. */
function unknownFields({ fault, path }: SchemaFailure, remarks?: ReadonlyMap<string, string>): string[] {
  if (fault.keyword !== "additionalProperties") return [];
  const { unknown, known } = fault;
  const lines: string[] = [];
  let isExplained = known.length === 0;
  unknown.forEach((name, index) => {
    const hint = remarks?.has(name) ? "" : similarHint(name, index, known, path);
    const isReported = remarks !== undefined && index === 0;
    const parts = [isReported ? "" : `unknown field ${goQuote(fieldPath([...path, name]))}`, hint].filter((part) => part !== "");
    if (parts.length > 0) lines.push(parts.join(", "));
    isExplained ||= hint !== "" || remarks?.has(name) === true;
  });
  if (isExplained) return lines;
  return [...lines, knownFields(known, path)];
}

/** Suggests a similar field. Returns an empty text if no field is similar, or if `index` is at least `MAX_COMPARED`. */
function similarHint(name: string, index: number, known: readonly string[], path: readonly string[]): string {
  const similar = index >= MAX_COMPARED ? undefined : findSimilarName(name, known);
  return similar === undefined ? "" : `did you mean ${goQuote(fieldPath([...path, similar]))}?`;
}

function knownFields(known: readonly string[], path: readonly string[]): string {
  const where = path.length === 0 ? "" : ` of ${goQuote(fieldPath(path))}`;
  return `the valid fields${where} are ${known.map(goQuote).join(", ")}`;
}

function sentence({ fault, path }: SchemaFailure): string {
  const field = fieldPath(path);
  const named = field === "" ? "" : ` for field ${goQuote(field)}`;
  switch (fault.keyword) {
    case "required":
      return missing(fault.missing.slice(0, 1));
    case "additionalProperties":
      return `unknown field ${goQuote(fault.unknown[0] ?? "")}`;
    case "type":
      return fault.got === "null" && field !== "" ? missing(path) : `invalid type${named}: got ${fault.got}, want ${fault.want}`;
    case "enum":
      return `invalid value${named}: got ${JSON.stringify(fault.got)}, want one of ${fault.want.map(goQuote).join(", ")}`;
    case "format":
      return `invalid format${named}: ${singleQuoted(fault.value)} is not valid ${fault.format}: ${fault.reason}`;
    case "anyOf":
      return `invalid value${named}`;
    case "minLength":
    case "maxLength":
      return `field ${goQuote(field)} must have ${fault.keyword === "minLength" ? "minimum" : "maximum"} length of ${fault.want} (len=${fault.got})`;
    case "minItems":
    case "maxItems": {
      const bound = `${fault.keyword === "minItems" ? "least" : "most"} ${formatCount(fault.want, "item")}`;
      return `field ${goQuote(field)} must have at ${bound} (it has ${fault.got})`;
    }
    case "uniqueItems":
      return `field ${goQuote(field)} must not contain duplicate items: ${fault.repeated.map(goQuote).join(", ")}`;
    case "pattern":
      return `field ${goQuote(field)} must match pattern ${goQuote(fault.want)}`;
    case "rule":
      return fault.text;
    case "allOf":
      return "'allOf' failed";
    case "oneOf":
      return "'oneOf' failed, none matched";
    case "$ref":
    case "group":
      return "validation failed";
    default:
      return fault satisfies never;
  }
}

function missingFields(path: readonly string[], names: readonly string[]): string[] {
  return names.map((name) => missing([...path, name]));
}

function missing(path: readonly string[]): string {
  return `required field ${goQuote(fieldPath(path))} is missing`;
}

/** Joins the names with dots. Keeps the escapes of JSON pointers, as upstream does. */
function fieldPath(path: readonly string[]): string {
  return path.map((name) => name.replaceAll("~", "~0").replaceAll("/", "~1")).join(".");
}

/** Quotes a text as the schema library does: with Go's escapes, between single quotes. */
function singleQuoted(text: string): string {
  return `'${goQuote(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}
