import { SEVERITIES, type Severity } from "../../fbc/validate/rules.ts";

/** Which findings count. */
export interface Selection {
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
export function selected<F extends Found>(findings: readonly F[], { severity: least, ignore }: Selection): F[] {
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
export function isAtLeast(severity: Severity, least: Severity): boolean {
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
