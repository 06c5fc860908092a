import type { BundleFiles } from "../../bundle/types.ts";
import type { PatternMatcher } from "../../crdsafety/objectFaults.ts";
import { formatContentPlace } from "../../fbc/types.ts";
import { comparePrinted } from "../../fbc/validate/finding.ts";
import { type Severity } from "../../fbc/validate/rules.ts";
import { truncate } from "../../text/truncate.ts";
import { BundleContent } from "./content.ts";
import { CONTROLLER_RULES } from "./controllerRules.ts";
import { CRD_RULES } from "./crdRules.ts";
import { CSV_RULES, DESCRIPTION_RULES } from "./csvRules.ts";
import { EXAMPLE_RULES } from "./exampleRules.ts";
import { LOADING_RULES, OBJECT_RULES } from "./manifestRules.ts";
import { ANNOTATION_RULES, METADATA_RULES } from "./metadataRules.ts";
import { OWNED_RULES } from "./ownedApiRules.ts";
import { PERMISSION_RULES } from "./permissionRules.ts";
import { type RuleTable } from "./rule.ts";
import { WEBHOOK_RULES } from "./webhookRules.ts";
import { DEPLOYMENT_RULES, IMAGE_RULES } from "./workloadRules.ts";

/** A finding in a bundle. */
export interface BundleFinding {
  readonly rule: string;
  readonly severity: Severity;
  readonly message: string;
  /** Path in the bundle, with slashes. */
  readonly file?: string;
  /** Line in the file, counted from 1. */
  readonly line?: number;
}

/** Formats a finding as one line: `error: manifests/csv.yaml: line 3: message [rule]`. */
export function formatBundleFinding({ severity, file = "", line, message, rule }: BundleFinding): string {
  return [severity, formatContentPlace({ file, line }), `${message} [${rule}]`].filter((part) => part !== "").join(": ");
}

/** The rules by topic, in the order of the reference. */
export const RULE_TOPICS: Readonly<Record<string, RuleTable>> = {
  Loading: LOADING_RULES,
  "operator-controller": CONTROLLER_RULES,
  Annotations: ANNOTATION_RULES,
  ClusterServiceVersion: CSV_RULES,
  "Operator description": DESCRIPTION_RULES,
  "Dependencies and properties": METADATA_RULES,
  Deployments: DEPLOYMENT_RULES,
  Images: IMAGE_RULES,
  Webhooks: WEBHOOK_RULES,
  Permissions: PERMISSION_RULES,
  Manifests: OBJECT_RULES,
  CustomResourceDefinitions: CRD_RULES,
  "Owned APIs": OWNED_RULES,
  Examples: EXAMPLE_RULES,
};

/** All rules by code. */
export const BUNDLE_RULES: RuleTable = Object.assign({}, ...Object.values(RULE_TOPICS));

/** Maximum findings per rule. If there are more, one additional finding contains the number of the rest. */
const MAX_FINDINGS = 50;
const MAX_MESSAGE = 2_048;

/** The result of checking a bundle. */
export interface BundleCheckResult {
  /** Name of its ClusterServiceVersion; empty if it has none. */
  readonly name: string;
  /** Errors first, then by place. At most 51 findings per rule, with messages of at most 2,048 characters. */
  readonly findings: readonly BundleFinding[];
}

/**
 * Checks a bundle against all rules. If the bundle cannot be loaded, checks its readable parts. Never throws.
 * @param matches reports whether a text in an example matches a schema pattern. Default: every text matches.
 */
export function checkBundleFiles(files: BundleFiles, matches?: PatternMatcher): BundleCheckResult {
  const content = new BundleContent(files, matches);
  const findings = Object.entries(BUNDLE_RULES).flatMap(([rule, { severity, find }]): BundleFinding[] => {
    const breaches = find(content);
    const found = breaches.slice(0, MAX_FINDINGS).map(({ message, at = {} }) => {
      return { rule, severity, message: truncate(message.replaceAll(/\s*\n\s*/g, " ").trim(), MAX_MESSAGE), ...content.locate(at) };
    });
    const more = breaches.length - found.length;
    return more > 0 ? [...found, { rule, severity, message: `and ${more} more of these` }] : found;
  });
  return { name: content.csv?.metadata.name ?? "", findings: findings.toSorted(comparePrinted) };
}
