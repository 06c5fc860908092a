import { compareText } from "../api/compareText.ts";
import { placeText } from "../fbc/contentError.ts";
import { SEVERITIES, type Severity } from "./severity.ts";

/** Something in a bundle that breaks a rule. */
export interface Finding {
  readonly rule: string;
  readonly severity: Severity;
  readonly message: string;
  /** Path in the bundle, with slashes. */
  readonly file?: string;
  /** Counts from 1 within the file. */
  readonly line?: number;
}

/** Errors first, then by file, line, rule and text. */
export function compareFindings(a: Finding, b: Finding): number {
  return (
    SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
    compareText(a.file ?? "", b.file ?? "") ||
    (a.line ?? 0) - (b.line ?? 0) ||
    compareText(a.rule, b.rule) ||
    compareText(a.message, b.message)
  );
}

/** The finding for people: `error: manifests/csv.yaml: line 3: what is wrong [rule]`. */
export function findingText({ severity, file = "", line, message, rule }: Finding): string {
  return [severity, placeText({ file, line }), `${message} [${rule}]`].filter((part) => part !== "").join(": ");
}
