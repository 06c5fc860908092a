import { groupOf, type KubeObject } from "../api/k8s.ts";
import { covers, type Grant, grantsOf, type PolicyRule, rulesFrom, withoutCovered } from "./policyRule.ts";
import type { RequiredRules } from "./requiredRules.ts";

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

/** Names shown of one rule, from the most to the fewest: the first that fits is taken. */
const NAMES_SHOWN = [Number.POSITIVE_INFINITY, 20, 5, 1];

/**
 * One line for each rule, `Namespace:"ns" APIGroups:[…] Resources:[…] ResourceNames:[…] Verbs:[…]`, sorted; `Namespace:""` is the cluster.
 * Together at most `maxBytes` bytes of UTF-8: names of long lists are counted instead of told, and at last whole rules.
 * @see operator-controller v1.5.0 internal/operator-controller/applier/helm.go, before permission checks were dropped there
 */
export function ruleLines({ clusterRules, namespaceRules }: RequiredRules, maxBytes: number): string[] {
  const placed = [["", clusterRules] as const, ...namespaceRules].flatMap(([namespace, rules]) =>
    rules.map((rule) => (names: number) => lineOf(namespace, rule, names)),
  );
  let lines: string[] = [];
  for (const names of NAMES_SHOWN) {
    lines = placed.map((line) => line(names)).sort();
    if (sizeOf(lines) <= maxBytes) return lines;
  }
  const fitting: string[] = [];
  const more = (): string => `…and ${lines.length - fitting.length} more rules`;
  for (const line of lines) {
    if (sizeOf([...fitting, line, more()]) > maxBytes) break;
    fitting.push(line);
  }
  return [...fitting, more()];
}

function lineOf(namespace: string, rule: PolicyRule, names: number): string {
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

function sizeOf(lines: readonly string[]): number {
  return Buffer.byteLength(lines.join("\n"), "utf8") + 2 * lines.length;
}

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

/** What changes from one set of rules to another. */
export interface RulesDiff {
  added: RequiredRules;
  removed: RequiredRules;
}

/** The rights that are only in `after`, and those that are only in `before`. */
export function diffRules(before: RequiredRules, after: RequiredRules): RulesDiff {
  return { added: unionOf([missingRules(after, before)]), removed: unionOf([missingRules(before, after)]) };
}

/** One line for each rule, "+ …" for what is added, then "- …" for what is removed; "no change" where there is neither. */
export function diffLines({ added, removed }: RulesDiff): string[] {
  if (isNothing(added) && isNothing(removed)) return ["no change"];
  const lines = (sign: string, rules: RequiredRules): string[] =>
    ruleLines(rules, Number.POSITIVE_INFINITY).map((line) => `${sign} ${line}`);
  return [...lines("+", added), ...lines("-", removed)];
}

/**
 * Whether a Role or ClusterRole gives rights that it did not give before; of other kinds never.
 * @param before undefined where it does not exist: then every rule is new.
 */
export function widensRights(before: KubeObject | undefined, after: KubeObject): boolean {
  const isRole = groupOf(after.apiVersion) === "rbac.authorization.k8s.io" && (after.kind === "Role" || after.kind === "ClusterRole");
  if (!isRole) return false;
  const had = rulesOf(before);
  return compact(rulesOf(after)).some((rule) => !had.some((held) => covers(held, rule)));
}

function rulesOf(role: KubeObject | undefined): PolicyRule[] {
  const rules = role?.["rules"];
  return Array.isArray(rules) ? (rules as PolicyRule[]) : [];
}
