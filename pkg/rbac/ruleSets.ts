import type { KubeObject } from "../api/k8s.ts";
import { isRole, readComparableRules } from "./escalation.ts";
import { buildRules, type PolicyRule, removeCovered, splitRule } from "./policyRule.ts";
import type { RequiredRules } from "./requiredRules.ts";
import { RuleIndex } from "./ruleIndex.ts";

/** The rules of a subject, as the API server reports them. */
export interface GrantedRules {
  /** Cluster-scoped rules. */
  clusterRules: readonly PolicyRule[];
  /** Rules by namespace. May include cluster-scoped rules. */
  namespaceRules: ReadonlyMap<string, readonly PolicyRule[]>;
}

/**
 * Returns the permissions in `needed` that `granted` does not contain, merged into few rules. A permission on one object may be granted by name, by a
 * rule without names, or by a wildcard.
 */
export function findMissingRules(needed: RequiredRules, granted: GrantedRules): RequiredRules {
  const namespaceRules = new Map<string, PolicyRule[]>();
  for (const [namespace, rules] of needed.namespaceRules) {
    const missing = findMissingPolicyRules(rules, [...(granted.namespaceRules.get(namespace) ?? []), ...granted.clusterRules]);
    if (missing.length > 0) namespaceRules.set(namespace, missing);
  }
  return {
    clusterRules: findMissingPolicyRules(needed.clusterRules, granted.clusterRules),
    namespaceRules,
    unknownKinds: needed.unknownKinds,
  };
}

/** Like `findMissingRules`, for the rules of one scope. */
export function findMissingPolicyRules(needed: readonly PolicyRule[], granted: readonly PolicyRule[]): PolicyRule[] {
  const index = new RuleIndex(granted);
  const grants = needed.flatMap(splitRule).filter((grant) => !index.hasGrant(grant));
  const urls = needed.flatMap(listUrlRules).filter(({ nonResourceURLs: [url = ""] = [], verbs: [verb = ""] }) => !index.hasUrl(url, verb));
  return removeCovered([...buildRules(grants), ...urls]);
}

/** Returns the permissions in both `rules` and `others`. */
export function intersectRules(rules: RequiredRules, others: RequiredRules): RequiredRules {
  return findMissingRules(rules, findMissingRules(rules, others));
}

/** Reports whether there are no rules. */
export function isEmptyRules({ clusterRules, namespaceRules }: RequiredRules): boolean {
  return clusterRules.length === 0 && [...namespaceRules.values()].every((rules) => rules.length === 0);
}

/** Returns every single permission of a rule on URLs; rules on resources have none. */
export function listUrlRules({ nonResourceURLs = [], verbs }: PolicyRule): PolicyRule[] {
  return nonResourceURLs.flatMap((url) => verbs.map((verb) => ({ nonResourceURLs: [url], verbs: [verb] })));
}

/** Maximum numbers of names to show for one rule. The first number with which all lines fit is used. */
const NAMES_SHOWN = [Number.POSITIVE_INFINITY, 20, 5, 1];

/**
 * Formats one line for each rule, `Namespace:"ns" APIGroups:[…] Resources:[…] ResourceNames:[…] Verbs:[…]`, sorted; `Namespace:""` is the cluster
 * scope. The lines have at most `maxBytes` bytes of UTF-8 in total: long lists of names are replaced by their number, and if necessary whole rules
 * too.
 * @see operator-controller v1.5.0 internal/operator-controller/applier/helm.go, before permission checks were dropped there
 */
export function formatRuleLines({ clusterRules, namespaceRules }: RequiredRules, maxBytes: number): string[] {
  const placed = [["", clusterRules] as const, ...namespaceRules].flatMap(([namespace, rules]) =>
    rules.map((rule) => (names: number) => formatLine(namespace, rule, names)),
  );
  let lines: string[] = [];
  for (const names of NAMES_SHOWN) {
    lines = placed.map((line) => line(names)).sort();
    if (getSize(lines) <= maxBytes) return lines;
  }
  const fitting: string[] = [];
  const more = (): string => `…and ${lines.length - fitting.length} more rules`;
  for (const line of lines) {
    if (getSize([...fitting, line, more()]) > maxBytes) break;
    fitting.push(line);
  }
  return [...fitting, more()];
}

function formatLine(namespace: string, rule: PolicyRule, names: number): string {
  const list = (label: string, values: readonly string[] | undefined, max = Number.POSITIVE_INFINITY): string[] => {
    if (!values || values.length === 0) return [];
    const sorted = values.toSorted();
    const more = sorted.length > max ? [`…and ${sorted.length - max} more`] : [];
    return [`${label}:[${[...sorted.slice(0, max), ...more].join(",")}]`];
  };
  return [
    `Namespace:${JSON.stringify(namespace)}`,
    ...list("APIGroups", rule.apiGroups),
    ...list("Resources", rule.resources),
    ...list("ResourceNames", rule.resourceNames, names),
    ...list("NonResourceURLs", rule.nonResourceURLs, names),
    ...list("Verbs", rule.verbs),
  ].join(" ");
}

function getSize(lines: readonly string[]): number {
  return Buffer.byteLength(lines.join("\n"), "utf8") + 2 * lines.length;
}

/** Merges the rules of several versions. The result grants exactly their permissions. */
export function mergeRequiredRules(all: readonly RequiredRules[]): RequiredRules {
  const namespaces = [...new Set(all.flatMap(({ namespaceRules }) => [...namespaceRules.keys()]))].sort();
  const unknown = new Map(all.flatMap(({ unknownKinds }) => unknownKinds.map((gvk) => [`${gvk.apiVersion}/${gvk.kind}`, gvk] as const)));
  return {
    clusterRules: compactRules(all.flatMap(({ clusterRules }) => clusterRules)),
    namespaceRules: new Map(
      namespaces.map((namespace) => [namespace, compactRules(all.flatMap(({ namespaceRules }) => namespaceRules.get(namespace) ?? []))]),
    ),
    unknownKinds: [...unknown.values()],
  };
}

/** Returns the same permissions in few rules, sorted. */
export function compactRules(rules: readonly PolicyRule[]): PolicyRule[] {
  const grants = rules.flatMap(splitRule);
  const urls = rules.filter(({ nonResourceURLs = [] }) => nonResourceURLs.length > 0);
  return removeCovered([...buildRules(grants), ...urls]);
}

/** The difference between two sets of rules. */
export interface RulesDiff {
  added: RequiredRules;
  removed: RequiredRules;
}

/** Returns the permissions that are only in `after`, and those that are only in `before`. */
export function diffRules(before: RequiredRules, after: RequiredRules): RulesDiff {
  return { added: mergeRequiredRules([findMissingRules(after, before)]), removed: mergeRequiredRules([findMissingRules(before, after)]) };
}

/** Formats one line for each rule, "+ …" for added, then "- …" for removed ones; "no change" if there are none. */
export function formatRulesDiff({ added, removed }: RulesDiff): string[] {
  if (isEmptyRules(added) && isEmptyRules(removed)) return ["no change"];
  const lines = (sign: string, rules: RequiredRules): string[] =>
    formatRuleLines(rules, Number.POSITIVE_INFINITY).map((line) => `${sign} ${line}`);
  return [...lines("+", added), ...lines("-", removed)];
}

/**
 * Reports whether a Role or ClusterRole grants permissions that it did not grant before, or has too many permissions to compare; false for other
 * kinds.
 * @param before undefined if the object does not exist, so that every rule is new
 */
export function widensPermissions(before: KubeObject | undefined, after: KubeObject): boolean {
  if (!isRole(after)) return false;
  const [held, wanted] = [before ? readComparableRules(before) : [], readComparableRules(after)];
  return !held || !wanted || !new RuleIndex(held).hasAll(wanted);
}
