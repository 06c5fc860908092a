import { goQuote } from "../golang/quote.ts";
import { similarName } from "../text/compare.ts";
import { formatCount, formatList } from "../text/lists.ts";
import type { SchemaFailure } from "./jsonSchema.ts";

/** Sentences beyond operator-controller's at most; who makes more mistakes reads on after correcting these. */
const MAX_UNTOLD = 20;
const BULLET = "\n  - ";
/** Most unknown fields of one object that are compared with known names; further fields are not shown. */
const MAX_COMPARED = MAX_UNTOLD + 1;
/** Characters of operator-controller's text that are enough: messages are cut at so many bytes. */
const MAX_TOLD = 32_768;

/** What is put together of a text. */
interface Lines {
  /** Operator-controller's sentences. */
  readonly told: string[];
  toldLength: number;
  /** What these do not say. */
  readonly untold: string[];
}

/** What is wrong with a configuration. */
export interface ConfigErrors {
  /** In the words of the Go operator-controller. */
  readonly text: string;
  /** The same, followed by what that text omits: faults behind a reference, further unknown or missing fields, their paths, similar names. */
  readonly fullText: string;
  /** The innermost faults in the order of the configuration, at most MAX_UNTOLD. */
  readonly mistakes: { path: string; message: string }[];
}

/**
 * Describes everything that is wrong with a configuration, always in the same order.
 * @param failures at least one.
 * @param remarks sentences to add, by the member of the configuration that each explains.
 * @see operator-controller df2c201d internal/operator-controller/config formatSchemaError
 */
export function configErrors(failures: readonly SchemaFailure[], remarks: ReadonlyMap<string, string> = new Map()): ConfigErrors {
  const lines: Lines = { told: [], toldLength: 0, untold: [] };
  for (const failure of failures) tell(failure, remarks, lines);
  const { told, untold } = lines;
  const text = told.length === 1 ? (told[0] ?? "") : `multiple errors found:${BULLET}${told.join(BULLET)}`;
  const more = [...new Set([...untold, ...remarks.values()])];
  const mistakes = failures.flatMap(innermost).slice(0, MAX_UNTOLD);
  if (more.length === 0) return { text, fullText: text, mistakes };
  if (more.length === 1 && told.length === 1) return { text, fullText: `${text}; ${more[0]}`, mistakes };
  return { text, fullText: `${text}; in detail:${BULLET}${formatList(more, { max: MAX_UNTOLD, separator: BULLET })}`, mistakes };
}

function innermost({ fault, path, causes }: SchemaFailure): ConfigErrors["mistakes"] {
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
  if (causes.length > 0 && fault.keyword !== "oneOf") return causes.flatMap(innermost);
  return [at(path, sentence({ fault, path, causes }))];
}

/** Adds the lines of a failure; none once operator-controller's are longer than any message. */
function tell(failure: SchemaFailure, remarks: ReadonlyMap<string, string>, lines: Lines): void {
  if (lines.toldLength > MAX_TOLD) return;
  const { fault, path, causes } = failure;
  const text = sentence(failure);
  lines.told.push(text);
  lines.toldLength += text.length;
  // The text of these two does not tell the place, and of several names it tells one.
  if (fault.keyword === "required") {
    add(lines, missingFields(path, path.length > 0 ? fault.missing : fault.missing.slice(1)));
  }
  if (fault.keyword === "additionalProperties") add(lines, unknownFields(failure, path.length === 0 ? remarks : undefined));
  if (fault.keyword === "$ref" && causes.length === 1) {
    for (const cause of causes) add(lines, details(cause));
    return;
  }
  for (const cause of causes) tell(cause, remarks, lines);
}

function add({ untold }: Lines, more: readonly string[]): void {
  for (const line of more) untold.push(line);
}

/** The sentences of the innermost faults, with full paths. */
function details(failure: SchemaFailure): string[] {
  const { fault, path, causes } = failure;
  if (fault.keyword === "required") return missingFields(path, fault.missing);
  if (fault.keyword === "additionalProperties") return unknownFields(failure);
  if (fault.keyword === "oneOf") return [`invalid value for field ${goQuote(fieldPath(path))}`];
  return causes.length > 0 ? causes.flatMap(details) : [sentence(failure)];
}

/** @param remarks of the root, of which the first unknown field is told already. */
function unknownFields({ fault, path }: SchemaFailure, remarks?: ReadonlyMap<string, string>): string[] {
  if (fault.keyword !== "additionalProperties") return [];
  const { unknown, known } = fault;
  const lines: string[] = [];
  let isExplained = known.length === 0;
  unknown.forEach((name, index) => {
    const hint = remarks?.has(name) ? "" : similarHint(name, index, known, path);
    const isTold = remarks !== undefined && index === 0;
    const parts = [isTold ? "" : `unknown field ${goQuote(fieldPath([...path, name]))}`, hint].filter((part) => part !== "");
    if (parts.length > 0) lines.push(parts.join(", "));
    isExplained ||= hint !== "" || remarks?.has(name) === true;
  });
  if (isExplained) return lines;
  return [...lines, knownFields(known, path)];
}

/** Asks whether a similar field was meant; empty if there is none, or after so many fields. */
function similarHint(name: string, index: number, known: readonly string[], path: readonly string[]): string {
  const meant = index >= MAX_COMPARED ? undefined : similarName(name, known);
  return meant === undefined ? "" : `did you mean ${goQuote(fieldPath([...path, meant]))}?`;
}

function knownFields(known: readonly string[], path: readonly string[]): string {
  const where = path.length === 0 ? "" : ` of ${goQuote(fieldPath(path))}`;
  return `the fields${where} are ${known.map(goQuote).join(", ")}`;
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
      return `field ${goQuote(field)} must not hold the same item twice: ${fault.repeated.map(goQuote).join(", ")}`;
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

/** Names between dots; a JSON pointer's escapes stay, as upstream leaves them. */
function fieldPath(path: readonly string[]): string {
  return path.map((name) => name.replaceAll("~", "~0").replaceAll("/", "~1")).join(".");
}

/** As the schema library quotes texts: Go's escapes between single quotes. */
function singleQuoted(text: string): string {
  return `'${goQuote(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}
