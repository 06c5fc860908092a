import { compareText } from "../../text/compare.ts";
import { excerpt } from "../../text/truncate.ts";
import { quoteExcerpt } from "../boundedTexts.ts";
import { type ContentPlace, formatContentPlace } from "../types.ts";
import { RULES, type RuleCode, type RuleDescription, refusesContent, SEVERITIES, type Severity } from "./rules.ts";

/** A meta without its content: what a finding is about. */
export interface FindingSubject {
  readonly schema: string;
  readonly package: string;
  readonly name: string;
  readonly place: ContentPlace;
}

/** Something that breaks a rule. */
export interface Finding extends FindingSubject {
  readonly rule: RuleCode;
  readonly severity: RuleDescription["severity"];
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
  severity: RuleDescription["severity"];
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
export function toPublishedFinding(finding: Finding): PublishedFinding {
  const { rule, severity, schema, package: packageName, name } = finding;
  const { file, document, line } = finding.place;
  const place = { file, ...(document === undefined ? {} : { document }), ...(line === undefined ? {} : { line }) };
  return { rule, severity, message: findingMessage(finding), place, schema, package: packageName, name };
}

/** The finding on one line for people: place, meta, what is wrong. */
export function formatFinding(finding: Finding): string {
  return [formatContentPlace(finding.place), subjectText(finding), findingMessage(finding)].filter((text) => text !== "").join(": ");
}

/** Such as `olm.bundle "foo.v1.0.0" of package "foo"`; empty for what has no schema. */
export function subjectText({ schema, package: packageName, name }: Pick<FindingSubject, "schema" | "package" | "name">): string {
  if (schema === "") return "";
  const named = name === "" ? "" : ` ${quoteExcerpt(name)}`;
  return `${schema}${named}${packageName === "" ? "" : ` of package ${quoteExcerpt(packageName)}`}`;
}

/** As findings are stored and served: errors first, then by file, document and rule in the order of the checks. */
export function compareFindings(a: Finding, b: Finding): number {
  if (a.severity !== b.severity) return a.severity === "error" ? -1 : 1;
  return (
    compareText(a.place.file, b.place.file) ||
    (a.place.document ?? 0) - (b.place.document ?? 0) ||
    RULE_ORDER.indexOf(a.rule) - RULE_ORDER.indexOf(b.rule) ||
    compareText(findingMessage(a), findingMessage(b))
  );
}

/** Something wrong at a place, by any rule. */
export interface Reported {
  readonly severity: Severity;
  readonly rule: string;
  readonly message: string;
  readonly file?: string;
  readonly document?: number | undefined;
  readonly line?: number | undefined;
}

/** For people: errors first, then by file, document, line, rule and text. */
export function compareReported(a: Reported, b: Reported): number {
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

/** Findings of one severity that are kept at most; the others are only counted. */
const MAX_KEPT = 1_000;
const MAX_MESSAGE = 1_024;

/** What more is known about a finding. */
export interface FindingDetails {
  path?: readonly string[];
  hint?: string;
}

/** Collects findings in the order of the checks. However many there are, and however long their texts, memory stays bounded. */
export class FindingLog {
  readonly counts: Record<RuleDescription["severity"], number> = { error: 0, warning: 0 };
  readonly #kept: Record<RuleDescription["severity"], Finding[]> = { error: [], warning: [] };
  #refusal: Finding | undefined;

  add(rule: RuleCode, { schema, package: packageName, name, place }: FindingSubject, message: string, details: FindingDetails = {}): void {
    const { severity } = RULES[rule];
    this.counts[severity]++;
    const kept = this.#kept[severity];
    if (kept.length >= MAX_KEPT && (!refusesContent(rule) || this.#refusal)) return;
    const { path = [], hint } = details;
    const subject = {
      schema: excerpt(schema, { length: MAX_MESSAGE }),
      package: excerpt(packageName, { length: MAX_MESSAGE }),
      name: excerpt(name, { length: MAX_MESSAGE }),
      place,
    };
    const text = {
      message: excerpt(message, { length: MAX_MESSAGE }),
      path: path.map((text) => excerpt(text, { length: MAX_MESSAGE })),
      ...(hint === undefined ? {} : { hint: excerpt(hint, { length: MAX_MESSAGE }) }),
    };
    const finding = { rule, severity, ...subject, ...text };
    kept.push(finding);
    if (refusesContent(rule)) this.#refusal ??= finding;
  }

  /** The first for which the catalog cannot be served. */
  get refusal(): Finding | undefined {
    return this.#refusal;
  }

  /** Those that were kept, in the order in which they came; errors first. */
  get findings(): Finding[] {
    return [...this.#kept.error, ...this.#kept.warning];
  }
}

const STAGES: readonly RuleDescription["stage"][] = ["content", "load", "package", "channel", "bundle", "entry", "deprecation"];
const ROOT = "invalid index";

/** What is printed below a line. */
type Branch = Map<string, Branch>;

/**
 * The text of the error with which opm refuses a catalog that has these findings: the first of its first stage, or the tree of what its model
 * check found; undefined for a catalog without errors.
 * @param findings in the order of the checks.
 * @see operator-registry v1.73.0 alpha/model/error.go
 */
export function opmError(findings: readonly Finding[]): string | undefined {
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
