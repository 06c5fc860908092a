import { compareText } from "../../text/compare.ts";
import { type ContentPlace, placeText } from "../contentError.ts";
import { quoted } from "./quoted.ts";
import { RULES, type RuleCode, type Severity } from "./rules.ts";

/** A meta without its content: what a finding is about. */
export interface Subject {
  readonly schema: string;
  readonly package: string;
  readonly name: string;
  readonly place: ContentPlace;
}

/** Something that breaks a rule. */
export interface Finding extends Subject {
  readonly rule: RuleCode;
  readonly severity: Severity;
  /** In opm's words where it has any. */
  readonly message: string;
  /** What opm puts above the message in its tree of errors, from the outside in. */
  readonly path: readonly string[];
  /** What opm does not say. */
  readonly hint?: string;
}

/** A finding as it is published; bounded like the finding. */
export interface PublishedFinding {
  rule: RuleCode;
  severity: Severity;
  /** Where in the catalog it is about, as opm has it, what is wrong, and behind "; " what more there is to say. */
  message: string;
  place: { file: string; document?: number; line?: number };
  schema: string;
  package: string;
  name: string;
}

/** The finding's whole text on one line. */
export function findingMessage({ path, message, hint }: Pick<Finding, "path" | "message" | "hint">): string {
  return [...path, message].join(": ") + (hint === undefined ? "" : `; ${hint}`);
}

/** The form that is stored and served. */
export function published(finding: Finding): PublishedFinding {
  const { rule, severity, schema, package: packageName, name } = finding;
  const { file, document, line } = finding.place;
  const place = { file, ...(document === undefined ? {} : { document }), ...(line === undefined ? {} : { line }) };
  return { rule, severity, message: findingMessage(finding), place, schema, package: packageName, name };
}

/** The finding on one line for people: place, meta, what is wrong. */
export function findingText(finding: Finding): string {
  return [placeText(finding.place), subjectText(finding), findingMessage(finding)].filter((text) => text !== "").join(": ");
}

/** Such as `olm.bundle "foo.v1.0.0" of package "foo"`; empty for what has no schema. */
export function subjectText({ schema, package: packageName, name }: Pick<Subject, "schema" | "package" | "name">): string {
  if (schema === "") return "";
  const named = name === "" ? "" : ` ${quoted(name)}`;
  return `${schema}${named}${packageName === "" ? "" : ` of package ${quoted(packageName)}`}`;
}

/** Errors first, then by file, document and rule. */
export function compareFindings(a: Finding, b: Finding): number {
  if (a.severity !== b.severity) return a.severity === "error" ? -1 : 1;
  return (
    compareText(a.place.file, b.place.file) ||
    (a.place.document ?? 0) - (b.place.document ?? 0) ||
    RULE_ORDER.indexOf(a.rule) - RULE_ORDER.indexOf(b.rule) ||
    compareText(findingMessage(a), findingMessage(b))
  );
}

const RULE_ORDER = Object.keys(RULES) as RuleCode[];
