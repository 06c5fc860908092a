import { groupOf, type KubeObject } from "../api/k8s.ts";
import { covers, type PolicyRule } from "./policyRule.ts";
import { compact } from "./union.ts";

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
