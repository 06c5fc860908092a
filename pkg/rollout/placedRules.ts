import type { JudgedRuleStatus } from "../api/extensionPermissions.ts";
import type { JudgedRule } from "../permissions/judgePermissions.ts";
import type { RiskClass, RiskLevel } from "../permissions/riskClasses.ts";
import type { PolicyRule } from "../rbac/policyRule.ts";
import type { RequiredRules } from "../rbac/requiredRules.ts";
import { formatList } from "../text/lists.ts";

/** The verbs that the installer needs for an object of a bundle; shown as "manage". */
const MANAGE = ["create", "delete", "get", "list", "patch", "watch"];
const READING = ["get", "list", "watch"];
const NAMES_SHOWN = 5;
const EVERY_NAME = "all";

/** A rule in its scope, with a note such as its risk class. */
export interface PlacedRule {
  /** "" for the cluster scope. */
  readonly namespace: string;
  readonly rule: PolicyRule;
  readonly note?: string | undefined;
}

/** Returns all rules, each in its scope. */
export function placeRules({ clusterRules, namespaceRules }: RequiredRules): PlacedRule[] {
  return [["", clusterRules] as const, ...namespaceRules].flatMap(([namespace, rules]) => rules.map((rule) => ({ namespace, rule })));
}

/** Returns rules in a status with their risk class and reason as notes. */
export function placeStatusRules(rules: readonly JudgedRuleStatus[]): PlacedRule[] {
  return rules.map(({ namespace = "", risk, reason, ...rule }) => ({
    namespace,
    rule: rule as PolicyRule,
    note: risk === undefined ? reason : `${risk}: ${reason}`,
  }));
}

/** Returns decided rules with their risk class as note, and optionally the field of the policy that decides. */
export function placeJudgedRules(judged: readonly JudgedRule[], withField = false): PlacedRule[] {
  return judged.map(({ namespace, rule, risk, field }) => {
    const notes = [...(withField ? [field] : []), ...(risk ? [risk.name] : [])];
    return { namespace, rule, ...(notes.length > 0 ? { note: notes.join(", ") } : {}) };
  });
}

/** Rules of one scope. */
export interface ScopedRules<Rule extends PlacedRule = PlacedRule> {
  /** "" for the cluster scope. */
  readonly namespace: string;
  /** Broadest first. */
  readonly rules: readonly Rule[];
}

/** Groups rules by scope, and sorts those of each scope, broadest first, so that users see the broadest rules. */
export function groupByScope<Rule extends PlacedRule>(rules: readonly Rule[]): ScopedRules<Rule>[] {
  return [...Map.groupBy(rules, ({ namespace }) => namespace)].map(([namespace, own]) => ({
    namespace,
    rules: own.toSorted((a, b) => computeBreadth(b.rule) - computeBreadth(a.rule)),
  }));
}

function computeBreadth({ verbs, resources = [], resourceNames = [] }: PolicyRule): number {
  if (verbs.includes("*") || resources.includes("*")) return 2;
  return resourceNames.length === 0 && verbs.some((verb) => !READING.includes(verb)) ? 1 : 0;
}

/**
 * Formats a rule on one line: verbs, resources, names. Lists all resources, but only the first five names.
 * @param allNames whether to list all names, for a user who approves the rule.
 */
export function formatRule(rule: PolicyRule, allNames = false): string {
  return `${formatVerbs(rule)} ${formatTarget(rule, allNames ? Number.POSITIVE_INFINITY : NAMES_SHOWN)}`;
}

function formatVerbs({ verbs }: PolicyRule): string {
  if (verbs.includes("*")) return "all verbs on";
  const isManaging = MANAGE.every((verb) => verbs.includes(verb));
  return (isManaging ? ["manage", ...verbs.filter((verb) => !MANAGE.includes(verb))] : verbs).join(", ");
}

function formatTarget({ apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: PolicyRule, max: number): string {
  if (nonResourceURLs.length > 0) return nonResourceURLs.join(", ");
  const what = apiGroups.flatMap((group) => resources.map((resource) => (group === "" ? resource : `${resource}.${group}`))).join(", ");
  const names = formatList(resourceNames, { max, rest: (more) => `… and ${more} more` });
  return `${what}: ${names === "" ? EVERY_NAME : names}`;
}

/** Returns the risk classes of rules, each once, in the order of the rules. */
export function listRisks(judged: readonly JudgedRule[]): RiskClass[] {
  return [...new Map(judged.flatMap(({ risk }) => (risk ? [[risk.name, risk] as const] : []))).values()];
}

const LEVELS: Readonly<Record<RiskLevel, string>> = { RootEquivalent: "root-equivalent", Broad: "broad" };

/** Describes what a holder of permissions with a risk class can do. */
export function describeRisk({ name, level, reason }: RiskClass): string {
  return `${name} (${LEVELS[level]}): a holder ${reason}`;
}

/** Returns a decided rule as JSON. */
export function toJudgedData({ namespace, rule, outcome, field, risk }: JudgedRule): object {
  return {
    ...(namespace === "" ? {} : { namespace }),
    ...rule,
    outcome,
    field,
    ...(risk ? { risk: risk.name, level: risk.level } : {}),
  };
}
