import type { BundleFiles } from "../bundle/types.ts";
import type { PatternMatcher } from "../crdsafety/objectFaults.ts";
import { shortened } from "../fbc/boundedTexts.ts";
import { BundleContent } from "./content.ts";
import { compareFindings, type Finding } from "./finding.ts";
import { BUNDLE_RULES } from "./rules.ts";

/** Most findings of one rule; further ones are counted in one more. */
const MAX_FINDINGS = 50;
const MAX_MESSAGE = 2_048;

/** What became of checking a bundle. */
export interface CheckedBundle {
  /** Of its ClusterServiceVersion; empty where there is none. */
  readonly name: string;
  /** Errors first, then by place; at most 51 of a rule, messages of at most 2,048 characters. */
  readonly findings: readonly Finding[];
}

/**
 * Holds a bundle against every rule, also one that cannot be loaded as far as it can be read. It never throws.
 * @param matches how texts of examples are held against patterns of schemas; by default every text matches.
 */
export function checkBundle(files: BundleFiles, matches?: PatternMatcher): CheckedBundle {
  const content = new BundleContent(files, matches);
  const findings = Object.entries(BUNDLE_RULES).flatMap(([rule, { severity, find }]): Finding[] => {
    const breaches = find(content);
    const found = breaches.slice(0, MAX_FINDINGS).map(({ message, at = {} }) => {
      return { rule, severity, message: shortened(message.replaceAll(/\s*\n\s*/g, " "), MAX_MESSAGE), ...content.locate(at) };
    });
    const more = breaches.length - found.length;
    return more > 0 ? [...found, { rule, severity, message: `and ${more} more of these` }] : found;
  });
  return { name: content.csv?.metadata.name ?? "", findings: findings.toSorted(compareFindings) };
}
