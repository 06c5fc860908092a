import { goQuote } from "../errors/goQuote.ts";
import type { Failure } from "./jsonSchema.ts";

/**
 * All that is wrong with a configuration: operator-controller's text, then after `; ` what that text does not say (faults hidden behind a
 * reference, further unknown or missing fields).
 * @param failures at least one.
 * @see operator-controller internal/operator-controller/config formatSchemaError
 */
export function configErrorText(failures: readonly Failure[]): string {
  const told: string[] = [];
  const untold: string[] = [];
  for (const failure of failures) tell(failure, told, untold);
  const text = told.length === 1 ? (told[0] ?? "") : `multiple errors found:\n  - ${told.join("\n  - ")}`;
  return untold.length === 0 ? text : `${text}; ${untold.join(", ")}`;
}

function tell(failure: Failure, told: string[], untold: string[]): void {
  const { fault, causes } = failure;
  told.push(sentence(failure));
  if (fault.keyword === "required") for (const name of fault.missing.slice(1)) untold.push(missing([...failure.path, name]));
  if (fault.keyword === "additionalProperties")
    for (const name of fault.unknown.slice(1)) untold.push(`unknown field ${goQuote(fieldPath([...failure.path, name]))}`);
  if (fault.keyword === "$ref" && causes.length === 1) {
    for (const cause of causes) untold.push(...details(cause));
    return;
  }
  for (const cause of causes) tell(cause, told, untold);
}

/** The sentences of the innermost faults, with full paths. */
function details(failure: Failure): string[] {
  const { fault, path, causes } = failure;
  if (fault.keyword === "required") return fault.missing.map((name) => missing([...path, name]));
  if (fault.keyword === "oneOf") return [`invalid value for field ${goQuote(fieldPath(path))}`];
  return causes.length > 0 ? causes.flatMap(details) : [sentence(failure)];
}

function sentence({ fault, path }: Failure): string {
  const field = fieldPath(path);
  const named = field === "" ? "" : ` for field ${goQuote(field)}`;
  switch (fault.keyword) {
    case "required":
      return missing(fault.missing.slice(0, 1));
    case "additionalProperties":
      return `unknown field ${goQuote(fault.unknown[0] ?? "")}`;
    case "type":
      return fault.got === "null" && field !== "" ? missing(path) : `invalid type${named}: got ${fault.got}, want ${fault.want}`;
    case "format":
      return `invalid format${named}: ${singleQuoted(fault.value)} is not valid ${fault.format}: ${fault.reason}`;
    case "anyOf":
      return `invalid value${named}`;
    case "minLength":
    case "maxLength":
      return `field ${goQuote(field)} must have ${fault.keyword === "minLength" ? "minimum" : "maximum"} length of ${fault.want} (len=${fault.got})`;
    case "pattern":
      return `field ${goQuote(field)} must match pattern ${goQuote(fault.want)}`;
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
