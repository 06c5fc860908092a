import { grantsOf, rulesFrom } from "./grants.ts";
import { type PolicyRule, withoutCovered } from "./policyRule.ts";
import type { RequiredRules } from "./rules.ts";

/** What an installer needs for all of several versions: the rules of each, put together without giving more than they do. */
export function unionOf(all: readonly RequiredRules[]): RequiredRules {
  const namespaces = [...new Set(all.flatMap(({ namespaceRules }) => [...namespaceRules.keys()]))].sort();
  const unknown = new Map(all.flatMap(({ unknownKinds }) => unknownKinds.map((gvk) => [`${gvk.apiVersion}/${gvk.kind}`, gvk] as const)));
  return {
    clusterRules: compact(all.flatMap(({ clusterRules }) => clusterRules)),
    namespaceRules: new Map(
      namespaces.map((namespace) => [namespace, compact(all.flatMap(({ namespaceRules }) => namespaceRules.get(namespace) ?? []))]),
    ),
    unknownKinds: [...unknown.values()],
  };
}

/** The same rights in few rules, sorted. */
export function compact(rules: readonly PolicyRule[]): PolicyRule[] {
  const grants = rules.flatMap(grantsOf);
  const urls = rules.filter(({ nonResourceURLs = [] }) => nonResourceURLs.length > 0);
  return withoutCovered([...rulesFrom(grants), ...urls]);
}
