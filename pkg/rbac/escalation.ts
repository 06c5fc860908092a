import { groupOf, type KubeObject } from "../api/k8s.ts";
import type { Grant } from "./grants.ts";
import { normalRule, type PolicyRule } from "./policyRule.ts";

/**
 * How an installer may write roles that give more than it holds:
 * `escalate`: the verbs escalate and bind, on exactly the roles concerned; short, and safe as far as the bundle is trusted;
 * `union`: it holds every rule that the roles give, so it can hand on nothing that it does not have itself.
 */
export type RoleStrategy = "escalate" | "union";

const RBAC = "rbac.authorization.k8s.io";

interface RoleRef {
  kind: string;
  name: string;
}

/**
 * The verbs that writing a role or binding needs beside those on the object itself, in the object's own scope.
 * The API server asks for `bind` in the binding's namespace, also on a ClusterRole.
 * @param objects all of the set: of a role outside it the rules are not known, so under `union`, too, it takes `bind`.
 */
export function escalationGrants(object: KubeObject, strategy: RoleStrategy, objects: readonly KubeObject[]): Grant[] {
  if (groupOf(object.apiVersion) !== RBAC) return [];
  if (isRole(object)) {
    if (strategy === "union" && !isAggregated(object)) return [];
    if (rulesOf(object).length === 0 && !isAggregated(object)) return [];
    return [{ group: RBAC, resource: pluralOf(object.kind), name: object.metadata.name, verb: "escalate" }];
  }
  const ref = roleRefOf(object);
  if (!ref) return [];
  const isKnown = objects.some((role) => isRole(role) && !isAggregated(role) && isNamedBy(role, ref, object));
  if (strategy === "union" && isKnown) return [];
  return [{ group: RBAC, resource: pluralOf(ref.kind), name: ref.name, verb: "bind" }];
}

/** Under `union` the rules that an installer must hold to write `object`, in the object's own scope. */
export function heldRules(object: KubeObject, strategy: RoleStrategy): PolicyRule[] {
  if (strategy !== "union" || groupOf(object.apiVersion) !== RBAC || !isRole(object) || isAggregated(object)) return [];
  return rulesOf(object).map(normalRule);
}

function isRole({ kind, apiVersion }: KubeObject): boolean {
  return groupOf(apiVersion) === RBAC && (kind === "Role" || kind === "ClusterRole");
}

/** Rules of an aggregated ClusterRole are the API server's; writing one takes every right there is, or `escalate`. */
function isAggregated(role: KubeObject): boolean {
  return role["aggregationRule"] !== undefined && role["aggregationRule"] !== null;
}

function isNamedBy(role: KubeObject, ref: RoleRef, binding: KubeObject): boolean {
  if (role.kind !== ref.kind || role.metadata.name !== ref.name) return false;
  return role.kind === "ClusterRole" || role.metadata.namespace === binding.metadata.namespace;
}

function rulesOf(role: KubeObject): PolicyRule[] {
  const rules = role["rules"];
  return Array.isArray(rules) ? (rules as PolicyRule[]) : [];
}

function roleRefOf(binding: KubeObject): RoleRef | undefined {
  const ref = binding["roleRef"] as Partial<RoleRef> | undefined;
  return ref?.kind !== undefined && ref.name !== undefined ? { kind: ref.kind, name: ref.name } : undefined;
}

function pluralOf(kind: string): string {
  return `${kind.toLowerCase()}s`;
}
