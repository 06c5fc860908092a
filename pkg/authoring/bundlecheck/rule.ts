import { type Severity } from "../../fbc/validate/rules.ts";
import { goQuote } from "../../golang/quote.ts";
import type { BundleContent, Place } from "./content.ts";

/** One way in which a bundle breaks a rule. */
export interface Breach {
  /** What is wrong, and what would be right where that is known. One sentence without a full stop. */
  readonly message: string;
  readonly at?: Place;
}

/** One rule for bundles. */
export interface BundleRule {
  readonly severity: Severity;
  /** What must hold; a sentence. */
  readonly rule: string;
  /** Who asks for it. */
  readonly source: string;
  /** Everything that breaks it, in the order of the bundle. */
  readonly find: (content: BundleContent) => readonly Breach[];
}

/** Rules by code. Codes are stable: scripts rely on them. */
export type RuleTable = Readonly<Record<string, BundleRule>>;

type Find = BundleRule["find"];

/** What keeps a bundle from being installed. */
export function defineErrorRule(rule: string, source: string, find: Find): BundleRule {
  return { severity: "error", rule, source, find };
}

/** What is most likely a mistake. */
export function defineWarningRule(rule: string, source: string, find: Find): BundleRule {
  return { severity: "warning", rule, source, find };
}

/** What may be meant so. */
export function defineInfoRule(rule: string, source: string, find: Find): BundleRule {
  return { severity: "info", rule, source, find };
}

/** Who asks for what the rules ask for. */
export const Source = {
  format: "registry+v1 bundle format",
  controller: "operator-controller",
  apiServer: "Kubernetes API server",
  packaging: "OLM packaging guide",
  scorecard: "scorecard",
  disconnected: "OLM guide to disconnected clusters",
  gate: "OpenShift cluster upgrades",
  security: "Kubernetes security guide",
} as const;

/** A path as a text, such as `spec.install`. */
export function formatMemberPath(path: readonly (string | number)[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    if (!/^[\w-]+$/.test(part)) return `${text}[${goQuote(part)}]`;
    return text === "" ? part : `${text}.${part}`;
  }, "");
}
