import type { BundleFiles } from "../../bundle/types.ts";
import type { PatternMatcher } from "../../crdsafety/objectFaults.ts";
import { formatContentPlace } from "../../fbc/types.ts";
import { compareReported } from "../../fbc/validate/finding.ts";
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
import { RIGHTS_RULES } from "./permissionRules.ts";
import { type RuleTable } from "./rule.ts";
import { WEBHOOK_RULES } from "./webhookRules.ts";
import { DEPLOYMENT_RULES, IMAGE_RULES } from "./workloadRules.ts";

/** Something in a bundle that breaks a rule. */
export interface BundleFinding {
  readonly rule: string;
  readonly severity: Severity;
  readonly message: string;
  /** Path in the bundle, with slashes. */
  readonly file?: string;
  /** Counts from 1 within the file. */
  readonly line?: number;
}

/** The finding for people: `error: manifests/csv.yaml: line 3: what is wrong [rule]`. */
export function formatBundleFinding({ severity, file = "", line, message, rule }: BundleFinding): string {
  return [severity, formatContentPlace({ file, line }), `${message} [${rule}]`].filter((part) => part !== "").join(": ");
}

/** The rules by what they are about, in the order of the reference. */
export const RULE_TOPICS: Readonly<Record<string, RuleTable>> = {
  Loading: LOADING_RULES,
  "What operator-controller checks": CONTROLLER_RULES,
  Annotations: ANNOTATION_RULES,
  ClusterServiceVersion: CSV_RULES,
  "Description for people": DESCRIPTION_RULES,
  "Dependencies and properties": METADATA_RULES,
  Deployments: DEPLOYMENT_RULES,
  Images: IMAGE_RULES,
  Webhooks: WEBHOOK_RULES,
  Rights: RIGHTS_RULES,
  Manifests: OBJECT_RULES,
  CustomResourceDefinitions: CRD_RULES,
  "Owned APIs": OWNED_RULES,
  Examples: EXAMPLE_RULES,
};

/** Every rule by its code. */
export const BUNDLE_RULES: RuleTable = Object.assign({}, ...Object.values(RULE_TOPICS));

/** Most findings of one rule; further ones are counted in one more. */
const MAX_FINDINGS = 50;
const MAX_MESSAGE = 2_048;

/** What became of checking a bundle. */
export interface BundleCheckResult {
  /** Of its ClusterServiceVersion; empty where there is none. */
  readonly name: string;
  /** Errors first, then by place; at most 51 of a rule, messages of at most 2,048 characters. */
  readonly findings: readonly BundleFinding[];
}

/**
 * Holds a bundle against every rule, also one that cannot be loaded as far as it can be read. It never throws.
 * @param matches how texts of examples are held against patterns of schemas; by default every text matches.
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
  return { name: content.csv?.metadata.name ?? "", findings: findings.toSorted(compareReported) };
}
