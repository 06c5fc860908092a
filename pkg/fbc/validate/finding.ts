import { compareText } from "../../text/compare.ts";
import { truncateExcerpt } from "../../text/truncate.ts";
import { quoteExcerpt } from "../boundedTexts.ts";
import { type ContentPlace, formatContentPlace } from "../types.ts";
import { preventsServing, RULES, type RuleCode, type RuleDescription, SEVERITIES, type Severity } from "./rules.ts";

/** The object that a finding is about. */
export interface FindingSubject {
  readonly schema: string;
  readonly package: string;
  readonly name: string;
  readonly place: ContentPlace;
}

/** A finding in a catalog. */
export interface Finding extends FindingSubject {
  readonly rule: RuleCode;
  readonly severity: RuleDescription["severity"];
  /** The opm message, if opm has the same check. */
  readonly message: string;
  /** Parent nodes of the message in the opm error tree, starting at the root. */
  readonly path: readonly string[];
  /** Additional information that opm does not print. */
  readonly hint?: string;
}

/** The stored and served form of a finding. Texts are bounded. */
export interface PublishedFinding {
  rule: RuleCode;
  severity: RuleDescription["severity"];
  /** The path and message that opm prints, followed by "; " and a hint, if any. */
  message: string;
  place: { file: string; document?: number; line?: number };
  schema: string;
  package: string;
  name: string;
}

/** Formats path, message and hint of a finding on one line. */
export function formatFindingMessage({ path, message, hint }: Pick<Finding, "path" | "message" | "hint">): string {
  return [...path, message].join(": ") + (hint === undefined ? "" : `; ${hint}`);
}

/** Converts a finding to its stored and served form. */
export function toPublishedFinding(finding: Finding): PublishedFinding {
  const { rule, severity, schema, package: packageName, name } = finding;
  const { file, document, line } = finding.place;
  const place = { file, ...(document === undefined ? {} : { document }), ...(line === undefined ? {} : { line }) };
  return { rule, severity, message: formatFindingMessage(finding), place, schema, package: packageName, name };
}

/** Formats a finding on one line: location, object and message. */
export function formatFinding(finding: Finding): string {
  return [formatContentPlace(finding.place), formatSubject(finding), formatFindingMessage(finding)]
    .filter((text) => text !== "")
    .join(": ");
}

/** Formats an object, such as `olm.bundle "foo.v1.0.0" of package "foo"`; empty without a schema. */
export function formatSubject({ schema, package: packageName, name }: Pick<FindingSubject, "schema" | "package" | "name">): string {
  if (schema === "") return "";
  const named = name === "" ? "" : ` ${quoteExcerpt(name)}`;
  return `${schema}${named}${packageName === "" ? "" : ` of package ${quoteExcerpt(packageName)}`}`;
}

/** Compares stored and served findings: errors first, then by file, by document, and by rule in the order of the checks. */
export function compareFindings(a: Finding, b: Finding): number {
  if (a.severity !== b.severity) return a.severity === "error" ? -1 : 1;
  return (
    compareText(a.place.file, b.place.file) ||
    (a.place.document ?? 0) - (b.place.document ?? 0) ||
    RULE_ORDER.indexOf(a.rule) - RULE_ORDER.indexOf(b.rule) ||
    compareText(formatFindingMessage(a), formatFindingMessage(b))
  );
}

/** A finding of any rule with its location. */
export interface Reported {
  readonly severity: Severity;
  readonly rule: string;
  readonly message: string;
  readonly file?: string;
  readonly document?: number | undefined;
  readonly line?: number | undefined;
}

/** Compares printed findings: errors first, then by file, document, line, rule and text. */
export function comparePrinted(a: Reported, b: Reported): number {
  return (
    SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
    compareText(a.file ?? "", b.file ?? "") ||
    (a.document ?? 0) - (b.document ?? 0) ||
    (a.line ?? 0) - (b.line ?? 0) ||
    compareText(a.rule, b.rule) ||
    compareText(a.message, b.message)
  );
}

const RULE_ORDER = Object.keys(RULES) as RuleCode[];

/** Maximum stored findings of one severity. Further findings are only counted. */
const MAX_KEPT = 1_000;
const MAX_MESSAGE = 1_024;

/** Optional details of a finding. */
export interface FindingDetails {
  path?: readonly string[];
  hint?: string;
}

/** Collects findings in the order of the checks. The number of stored findings and the length of their texts are limited. */
export class FindingLog {
  readonly counts: Record<RuleDescription["severity"], number> = { error: 0, warning: 0 };
  readonly #kept: Record<RuleDescription["severity"], Finding[]> = { error: [], warning: [] };
  #refusal: Finding | undefined;

  add(rule: RuleCode, { schema, package: packageName, name, place }: FindingSubject, message: string, details: FindingDetails = {}): void {
    const { severity } = RULES[rule];
    this.counts[severity]++;
    const kept = this.#kept[severity];
    if (kept.length >= MAX_KEPT && (!preventsServing(rule) || this.#refusal)) return;
    const { path = [], hint } = details;
    const subject = {
      schema: truncateExcerpt(schema, { length: MAX_MESSAGE }),
      package: truncateExcerpt(packageName, { length: MAX_MESSAGE }),
      name: truncateExcerpt(name, { length: MAX_MESSAGE }),
      place,
    };
    const text = {
      message: truncateExcerpt(message, { length: MAX_MESSAGE }),
      path: path.map((text) => truncateExcerpt(text, { length: MAX_MESSAGE })),
      ...(hint === undefined ? {} : { hint: truncateExcerpt(hint, { length: MAX_MESSAGE }) }),
    };
    const finding = { rule, severity, ...subject, ...text };
    kept.push(finding);
    if (preventsServing(rule)) this.#refusal ??= finding;
  }

  /** The first finding that prevents serving the catalog. */
  get refusal(): Finding | undefined {
    return this.#refusal;
  }

  /** Stored findings in order of insertion, errors first. */
  get findings(): Finding[] {
    return [...this.#kept.error, ...this.#kept.warning];
  }
}

const STAGES: readonly RuleDescription["stage"][] = ["content", "load", "package", "channel", "bundle", "entry", "deprecation"];
const ROOT = "invalid index";

/** Nodes of the error tree by text. */
type Branch = Map<string, Branch>;

/**
 * Returns the error that opm reports for a catalog with these findings: the first error of the first failed stage or, for stage "model", a tree of
 * all errors; undefined if there are no errors.
 * @param findings in the order of the checks.
 * @see operator-registry v1.73.0 alpha/model/error.go
 */
export function formatOpmError(findings: readonly Finding[]): string | undefined {
  const errors = findings.filter(({ severity }) => severity === "error");
  for (const stage of STAGES) {
    const first = errors.find(({ rule }) => RULES[rule].stage === stage);
    if (first) return first.message;
  }
  if (errors.length === 0) return undefined;
  const root: Branch = new Map();
  for (const { path, message } of errors) {
    let branch = root;
    for (const line of [...path, message]) {
      const below: Branch = branch.get(line) ?? new Map<string, Branch>();
      branch.set(line, below);
      branch = below;
    }
  }
  return [`${ROOT}:`, ...treeLines(root, "")].join("\n");
}

function treeLines(branch: Branch, indent: string): string[] {
  const last = branch.size - 1;
  return [...branch].flatMap(([line, below], i) => [
    `${indent}${i === last ? "└── " : "├── "}${line}${below.size > 0 ? ":" : ""}`,
    ...treeLines(below, `${indent}${i === last ? "    " : "│   "}`),
  ]);
}
