import type { Finding, Subject } from "./finding.ts";
import { RULES, type RuleCode, refusesContent, type Severity } from "./rules.ts";

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
  readonly counts: Record<Severity, number> = { error: 0, warning: 0 };
  readonly #kept: Record<Severity, Finding[]> = { error: [], warning: [] };
  #refusal: Finding | undefined;

  add(rule: RuleCode, { schema, package: packageName, name, place }: Subject, message: string, details: FindingDetails = {}): void {
    const { severity } = RULES[rule];
    this.counts[severity]++;
    const kept = this.#kept[severity];
    if (kept.length >= MAX_KEPT && (!refusesContent(rule) || this.#refusal)) return;
    const { path = [], hint } = details;
    const subject = { schema: bounded(schema), package: bounded(packageName), name: bounded(name), place };
    const text = { message: bounded(message), path: path.map(bounded), ...(hint === undefined ? {} : { hint: bounded(hint) }) };
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

function bounded(text: string): string {
  if (text.length <= MAX_MESSAGE) return text;
  return `${text.slice(0, MAX_MESSAGE)}… (${text.length} characters)`;
}
