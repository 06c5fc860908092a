import { groupOf, type JsonObject, type KubeObject } from "../api/k8s.ts";
import { TerminalError } from "../errors/errors.ts";
import { describeObject } from "../release/identity.ts";
import { type Grant, normalRule, type PolicyRule } from "./policyRule.ts";

/**
 * How an installer may write roles that give more than it holds:
 * `escalate`: the verbs escalate and bind, on exactly the roles concerned; short, and safe as far as the bundle is trusted;
 * `union`: it holds every rule that the roles give, so it can hand on nothing that it does not have itself.
 */
export type RoleStrategy = "escalate" | "union";

const RBAC = "rbac.authorization.k8s.io";
/** Room for ten times the largest role known; rules multiply groups by resources by names by verbs. */
const MAX_RIGHTS = 100_000;

interface RoleRef {
  kind: string;
  name: string;
}

/** Whether an installer holds `rules` in a namespace; "" is the cluster. */
export type HeldCheck = (namespace: string, rules: readonly PolicyRule[]) => boolean;

/** How roles are written. */
export interface EscalationOptions {
  strategy: RoleStrategy;
  /** All of the set: of a role outside it the rules are not known, so under `union`, too, it takes `bind`. */
  objects: readonly KubeObject[];
  isHeld?: HeldCheck;
}

/**
 * The verbs that writing a role or binding needs beside those on the object itself, in the object's own scope.
 * The API server asks for `bind` in the binding's namespace, also on a ClusterRole; rules that the installer holds there take neither verb.
 */
export function escalationGrants(object: KubeObject, namespace: string, options: EscalationOptions): Grant[] {
  if (groupOf(object.apiVersion) !== RBAC) return [];
  const { strategy, objects, isHeld = () => false } = options;
  const isFree = (role: KubeObject): boolean => !isAggregated(role) && (strategy === "union" || isHeld(namespace, rulesOf(role)));
  if (isRole(object)) {
    if (isFree(object) || (rulesOf(object).length === 0 && !isAggregated(object))) return [];
    return [{ group: RBAC, resource: pluralOf(object.kind), name: object.metadata.name, verb: "escalate" }];
  }
  const ref = roleRefOf(object);
  if (!ref) return [];
  if (objects.some((role) => isRole(role) && isNamedBy(role, ref, object) && isFree(role))) return [];
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

/**
 * The rules of a role as far as they can be read; what else stands there the API server refuses.
 * @throws TerminalError Blocked on more rights than anybody could read.
 */
function rulesOf(role: KubeObject): PolicyRule[] {
  const rules: unknown = role["rules"];
  const read = (Array.isArray(rules) ? rules : []).map(ruleFrom);
  const count = read.reduce((sum, rule) => sum + countOf(rule), 0);
  if (count <= MAX_RIGHTS) return read;
  throw new TerminalError("Blocked", `${describeObject(role)} gives ${count} single rights, at most ${MAX_RIGHTS} are looked at`);
}

function ruleFrom(rule: unknown): PolicyRule {
  const texts = (member: string): string[] => {
    const list = (rule as JsonObject | null)?.[member];
    return Array.isArray(list) ? list.filter((entry) => typeof entry === "string") : [];
  };
  return {
    apiGroups: texts("apiGroups"),
    resources: texts("resources"),
    resourceNames: texts("resourceNames"),
    nonResourceURLs: texts("nonResourceURLs"),
    verbs: texts("verbs"),
  };
}

function countOf({ apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [], verbs }: PolicyRule): number {
  return verbs.length * (nonResourceURLs.length + apiGroups.length * resources.length * Math.max(1, resourceNames.length));
}

/** Undefined where it names nothing, which the API server refuses. */
function roleRefOf(binding: KubeObject): RoleRef | undefined {
  const { kind, name } = (binding["roleRef"] ?? {}) as Partial<Record<keyof RoleRef, unknown>>;
  return typeof kind === "string" && typeof name === "string" ? { kind, name } : undefined;
}

function pluralOf(kind: string): string {
  return `${kind.toLowerCase()}s`;
}
