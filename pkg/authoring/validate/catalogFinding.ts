import type { ReadFault } from "../../catalogd/load/checkCatalog.ts";
import { type ContentPlace, placeText } from "../../fbc/types.ts";
import { compareReported, type Finding, findingMessage, type Subject, subjectText } from "../../fbc/validate/finding.ts";
import { RULES, type RuleCode, type Severity } from "../../fbc/validate/rules.ts";
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
  readonly subject?: Pick<Subject, "schema" | "package" | "name">;
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
export function unreadable({ message, place }: ReadFault): CatalogFinding {
  return { rule: "unreadable", severity: "error", message, ...(place ? { place } : {}) };
}

/** On one line for people: how bad, where, about what, what is wrong, by which rule. */
export function findingLine({ rule, severity, message, place, subject }: CatalogFinding): string {
  const where = rule === "unreadable" || !place ? "" : placeText(place);
  return [severity, where, subject ? subjectText(subject) : "", `${message} [${rule}]`].filter((part) => part !== "").join(": ");
}

/** Errors first, then by file, document, line and rule. */
export function compareCatalogFindings(a: CatalogFinding, b: CatalogFinding): number {
  return compareReported({ ...a, ...a.place }, { ...b, ...b.place });
}
