import type { PermissionPolicySpec, PolicyEntry } from "../api/permissionPolicy.ts";
import { buildRules, HeldRule, intersects, type PolicyRule, splitRule, toRule } from "../rbac/policyRule.ts";
import type { RequiredRules } from "../rbac/requiredRules.ts";
import { listUrlRules } from "../rbac/ruleSets.ts";
import { classifyPermission, type RiskClass } from "./riskClasses.ts";
import type { RiskSubject } from "./riskSubject.ts";

/** What a policy decides about a permission: it is granted, it waits for an approval, or no approval can grant it. */
export type PermissionOutcome = "Granted" | "Pending" | "Denied";

/** Permissions of one scope with the same outcome for the same reason. */
export interface JudgedRule {
  /** "" for the cluster scope. */
  readonly namespace: string;
  readonly rule: PolicyRule;
  readonly outcome: PermissionOutcome;
  /** The risk class of the permissions, if they have one. */
  readonly risk?: RiskClass;
  /** The field of the policy that decides, such as "deny[0]" or "grant". */
  readonly field: string;
}

/** The part of a policy that decides about permissions. */
export type GrantPolicy = Pick<PermissionPolicySpec, "grant" | "allow" | "deny">;

const OUTCOMES: readonly PermissionOutcome[] = ["Denied", "Pending", "Granted"];

/** One permission with its outcome. */
interface JudgedPermission extends Omit<JudgedRule, "rule"> {
  readonly permission: PolicyRule;
}

/**
 * Decides about each permission in `rules`, and returns few rules that contain exactly these permissions: by scope, then denied, pending and granted ones:
 *
 * | the permission                                              | outcome |
 * | shares a permission with an entry of `deny`                 | Denied  |
 * | is contained in an entry of `allow`                         | Granted |
 * | `grant` is Manual, or Guarded and it is root-equivalent     | Pending |
 * | otherwise                                                   | Granted |
 *
 * `*` means all values, including those that do not exist yet: only an entry with `*` contains it, and every entry shares a permission with it.
 */
export function judgePermissions(rules: RequiredRules, policy: GrantPolicy, subject: RiskSubject): JudgedRule[] {
  const scopes = [["", rules.clusterRules] as const, ...rules.namespaceRules];
  const allowed = (policy.allow ?? []).map((entry) => ({ entry, held: new HeldRule(entry) }));
  return scopes.flatMap(([namespace, placed]) => {
    const permissions = placed.flatMap((rule) => [...splitRule(rule).map(toRule), ...listUrlRules(rule)]);
    return mergePermissions(permissions.map((permission) => judge(permission, namespace, { policy, allowed }, subject)));
  });
}

/** A policy whose entries of `allow` are compared with many permissions. */
interface ComparedPolicy {
  readonly policy: GrantPolicy;
  readonly allowed: readonly { readonly entry: PolicyEntry; readonly held: HeldRule }[];
}

function judge(permission: PolicyRule, namespace: string, { policy, allowed }: ComparedPolicy, subject: RiskSubject): JudgedPermission {
  const { grant = "Guarded", deny = [] } = policy;
  const risk = classifyPermission(permission, namespace, subject);
  const judged = (outcome: PermissionOutcome, field: string): JudgedPermission => ({
    permission,
    namespace,
    outcome,
    field,
    ...(risk ? { risk } : {}),
  });
  const denying = deny.findIndex((entry) => appliesTo(entry, namespace) && intersects(entry, permission));
  if (denying >= 0) return judged("Denied", `deny[${denying}]`);
  const allowing = allowed.findIndex(({ entry, held }) => appliesTo(entry, namespace) && held.covers(permission));
  if (allowing >= 0) return judged("Granted", `allow[${allowing}]`);
  const waits = grant === "Manual" || (grant === "Guarded" && risk?.level === "RootEquivalent");
  return judged(waits ? "Pending" : "Granted", "grant");
}

function appliesTo({ scope }: PolicyEntry, namespace: string): boolean {
  return scope === undefined || (scope === "Cluster") === (namespace === "");
}

/** Joins permissions with the same outcome, field and risk class. */
function mergePermissions(permissions: readonly JudgedPermission[]): JudgedRule[] {
  const sorted = permissions.toSorted((a, b) => OUTCOMES.indexOf(a.outcome) - OUTCOMES.indexOf(b.outcome));
  const groups = Map.groupBy(sorted, ({ outcome, field, risk }) => JSON.stringify([outcome, field, risk?.name ?? ""]));
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (!first) return [];
    const { permission: _, ...common } = first;
    const all = group.map(({ permission }) => permission);
    return [...buildRules(all.flatMap(splitRule)), ...joinUrls(all)].map((rule) => ({ ...common, rule }));
  });
}

/** Joins rules on URLs with the same verbs. */
function joinUrls(rules: readonly PolicyRule[]): PolicyRule[] {
  const byVerbs = Map.groupBy(
    rules.filter(({ nonResourceURLs = [] }) => nonResourceURLs.length > 0),
    ({ verbs }) => JSON.stringify(verbs),
  );
  return [...byVerbs.values()].map((same) => ({
    nonResourceURLs: same.flatMap(({ nonResourceURLs = [] }) => nonResourceURLs),
    verbs: same[0]?.verbs ?? [],
  }));
}
