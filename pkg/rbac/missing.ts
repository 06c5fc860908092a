import { type Grant, grantsOf, rulesFrom } from "./grants.ts";
import { covers, type PolicyRule, withoutCovered } from "./policyRule.ts";
import type { RequiredRules } from "./rules.ts";

/** The rules that somebody holds, as the API server tells them. */
export interface GrantedRules {
  /** Those that hold in the whole cluster. */
  clusterRules: readonly PolicyRule[];
  /** By namespace, those that hold there; the cluster's may be among them or not. */
  namespaceRules: ReadonlyMap<string, readonly PolicyRule[]>;
}

/**
 * What of `needed` is not in `granted`, in few rules: nothing that is there is asked for again, nothing more than is needed is asked for.
 * A right to one object is held by name, by a rule without names, or by a wildcard.
 */
export function missingRules(needed: RequiredRules, granted: GrantedRules): RequiredRules {
  const namespaceRules = new Map<string, PolicyRule[]>();
  for (const [namespace, rules] of needed.namespaceRules) {
    const missing = missingIn(rules, [...(granted.namespaceRules.get(namespace) ?? []), ...granted.clusterRules]);
    if (missing.length > 0) namespaceRules.set(namespace, missing);
  }
  return { clusterRules: missingIn(needed.clusterRules, granted.clusterRules), namespaceRules, unknownKinds: needed.unknownKinds };
}

/** As `missingRules` for the rules of one scope. */
export function missingIn(needed: readonly PolicyRule[], granted: readonly PolicyRule[]): PolicyRule[] {
  const isMissing = (right: PolicyRule): boolean => !granted.some((held) => covers(held, right));
  const grants = needed.flatMap(grantsOf).filter((grant) => isMissing(ruleOf(grant)));
  const urls = needed.flatMap(urlRulesOf).filter(isMissing);
  return withoutCovered([...rulesFrom(grants), ...urls]);
}

/** What is both in `rules` and in `others`. */
export function commonRules(rules: RequiredRules, others: RequiredRules): RequiredRules {
  return missingRules(rules, missingRules(rules, others));
}

/** Whether nothing is missing. */
export function isNothing({ clusterRules, namespaceRules }: RequiredRules): boolean {
  return clusterRules.length === 0 && [...namespaceRules.values()].every((rules) => rules.length === 0);
}

/** The rule that gives one right. */
export function ruleOf({ group, resource, name, verb }: Grant): PolicyRule {
  return { apiGroups: [group], resources: [resource], ...(name === undefined ? {} : { resourceNames: [name] }), verbs: [verb] };
}

function urlRulesOf({ nonResourceURLs = [], verbs }: PolicyRule): PolicyRule[] {
  return nonResourceURLs.flatMap((url) => verbs.map((verb) => ({ nonResourceURLs: [url], verbs: [verb] })));
}
