import type { UnreadableFile } from "../../catalogd/load/checkCatalog.ts";
import { type ContentPlace, formatContentPlace } from "../../fbc/types.ts";
import { comparePrinted, type Finding, type FindingSubject, formatFindingMessage, formatSubject } from "../../fbc/validate/finding.ts";
import { RULES, type RuleCode, SEVERITIES, type Severity } from "../../fbc/validate/rules.ts";
import { CATALOG_LINTS } from "../lint/catalogLint.ts";
import { IMAGE_CHECKS } from "../lint/lintRule.ts";

/** A finding in a catalog. */
export interface CatalogFinding {
  readonly rule: string;
  readonly severity: Severity;
  readonly message: string;
  /** Absent if the finding is about the whole catalog. */
  readonly place?: ContentPlace;
  /** The affected object; absent if a file cannot be read. */
  readonly subject?: Pick<FindingSubject, "schema" | "package" | "name">;
}

/** All rules for catalogs by code. */
export const CATALOG_RULES: Readonly<Record<string, { readonly severity: Severity; readonly rule: string }>> = {
  unreadable: { severity: "error", rule: "Every catalog file must be readable." },
  ...RULES,
  ...CATALOG_LINTS,
  ...IMAGE_CHECKS,
};

/** Converts a finding of `CatalogCheck`. */
export function convertFinding(finding: Finding): CatalogFinding {
  const { rule, severity, schema, package: packageName, name, place } = finding;
  return {
    rule: rule satisfies RuleCode,
    severity,
    message: formatFindingMessage(finding),
    place,
    subject: { schema, package: packageName, name },
  };
}

/** Converts the error about an unreadable file to a finding. */
export function reportUnreadableFile({ message, place }: UnreadableFile): CatalogFinding {
  return { rule: "unreadable", severity: "error", message, ...(place ? { place } : {}) };
}

/** Formats a finding as one line: severity, location, object, message and rule. */
export function formatFindingLine({ rule, severity, message, place, subject }: CatalogFinding): string {
  const where = rule === "unreadable" || !place ? "" : formatContentPlace(place);
  return [severity, where, subject ? formatSubject(subject) : "", `${message} [${rule}]`].filter((part) => part !== "").join(": ");
}

/** Compares findings by severity, errors first, then by file, document, line and rule. */
export function compareCatalogFindings(a: CatalogFinding, b: CatalogFinding): number {
  return comparePrinted({ ...a, ...a.place }, { ...b, ...b.place });
}

/** Selects findings by severity and rule. */
export interface FindingSelection {
  /** The lowest severity to report. */
  readonly severity: Severity;
  /** Codes of rules to skip. */
  readonly ignore: readonly string[];
}

interface RankedFinding {
  readonly rule: string;
  readonly severity: Severity;
}

/** Returns the selected findings. */
export function selectFindings<F extends RankedFinding>(findings: readonly F[], { severity: lowest, ignore }: FindingSelection): F[] {
  return findings.filter(({ rule, severity }) => isAtLeast(severity, lowest) && !ignore.includes(rule));
}

/** Reports whether a finding has the given severity or a higher one. */
export function reachesSeverity(findings: readonly RankedFinding[], lowest: Severity): boolean {
  return findings.some(({ severity }) => isAtLeast(severity, lowest));
}

/** Counts the findings of one severity. */
export function countSeverity(findings: readonly RankedFinding[], counted: Severity): number {
  return findings.filter(({ severity }) => severity === counted).length;
}

function isAtLeast(severity: Severity, lowest: Severity): boolean {
  return SEVERITIES.indexOf(severity) <= SEVERITIES.indexOf(lowest);
}

/** Checks the codes of rules to skip. @throws Error for an unknown rule, and, with `reason`, for a rule of severity error. */
export function requireIgnorable(
  ignored: readonly string[],
  rules: Readonly<Record<string, { severity: Severity }>>,
  reason: string,
): void {
  for (const rule of ignored) {
    const found = Object.hasOwn(rules, rule) ? rules[rule] : undefined;
    if (!found) throw new Error(`unknown rule "${rule}"`);
    if (found.severity === "error") throw new Error(`rule "${rule}" cannot be ignored: ${reason}`);
  }
}
