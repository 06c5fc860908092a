import type { ReadFault } from "../../catalogd/load/checkCatalog.ts";
import { type ContentPlace, formatContentPlace } from "../../fbc/types.ts";
import { compareReported, type Finding, type FindingSubject, findingMessage, subjectText } from "../../fbc/validate/finding.ts";
import { RULES, type RuleCode, SEVERITIES, type Severity } from "../../fbc/validate/rules.ts";
import { CATALOG_LINTS } from "../lint/catalogLint.ts";
import { IMAGE_CHECKS } from "../lint/lintRule.ts";

/** Something that was found in a catalog. */
export interface CatalogFinding {
  readonly rule: string;
  readonly severity: Severity;
  readonly message: string;
  /** Absent where it is about the catalog as a whole. */
  readonly place?: ContentPlace;
  /** The object that it is about; absent for what cannot be read. */
  readonly subject?: Pick<FindingSubject, "schema" | "package" | "name">;
}

/** Every rule that a catalog can break, by its code. */
export const CATALOG_RULES: Readonly<Record<string, { readonly severity: Severity; readonly rule: string }>> = {
  unreadable: { severity: "error", rule: "Every file of a catalog can be read." },
  ...RULES,
  ...CATALOG_LINTS,
  ...IMAGE_CHECKS,
};

/** What opm or the format has against a catalog. */
export function findingOf(finding: Finding): CatalogFinding {
  const { rule, severity, schema, package: packageName, name, place } = finding;
  return {
    rule: rule satisfies RuleCode,
    severity,
    message: findingMessage(finding),
    place,
    subject: { schema, package: packageName, name },
  };
}

/** A file that cannot be read. */
export function reportUnreadableFile({ message, place }: ReadFault): CatalogFinding {
  return { rule: "unreadable", severity: "error", message, ...(place ? { place } : {}) };
}

/** On one line for people: how bad, where, about what, what is wrong, by which rule. */
export function findingLine({ rule, severity, message, place, subject }: CatalogFinding): string {
  const where = rule === "unreadable" || !place ? "" : formatContentPlace(place);
  return [severity, where, subject ? subjectText(subject) : "", `${message} [${rule}]`].filter((part) => part !== "").join(": ");
}

/** Errors first, then by file, document, line and rule. */
export function compareCatalogFindings(a: CatalogFinding, b: CatalogFinding): number {
  return compareReported({ ...a, ...a.place }, { ...b, ...b.place });
}

/** Which findings count. */
export interface FindingSelection {
  /** The least severity that is told. */
  readonly severity: Severity;
  /** Rules that are not looked at. */
  readonly ignore: readonly string[];
}

interface Found {
  readonly rule: string;
  readonly severity: Severity;
}

/** Those that are told. */
export function selectFindings<F extends Found>(findings: readonly F[], { severity: least, ignore }: FindingSelection): F[] {
  return findings.filter(({ rule, severity }) => isAtLeast(severity, least) && !ignore.includes(rule));
}

/** Whether something at least that bad was found. */
export function failsAt(findings: readonly Found[], least: Severity): boolean {
  return findings.some(({ severity }) => isAtLeast(severity, least));
}

/** How many have that severity. */
export function countOf(findings: readonly Found[], of: Severity): number {
  return findings.filter(({ severity }) => severity === of).length;
}

/** Whether the first is as bad as the second, or worse. */
function isAtLeast(severity: Severity, least: Severity): boolean {
  return SEVERITIES.indexOf(severity) <= SEVERITIES.indexOf(least);
}

/** @throws Error for a rule that there is not, and for one whose breach is an error: `why` says what that means. */
export function requireIgnorable(ignored: readonly string[], rules: Readonly<Record<string, { severity: Severity }>>, why: string): void {
  for (const rule of ignored) {
    const found = Object.hasOwn(rules, rule) ? rules[rule] : undefined;
    if (!found) throw new Error(`there is no rule "${rule}"`);
    if (found.severity === "error") throw new Error(`rule "${rule}" cannot be ignored: ${why}`);
  }
}
