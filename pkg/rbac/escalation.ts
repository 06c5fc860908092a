import { getGroup, type JsonObject, type KubeObject } from "../api/k8s.ts";
import { TerminalError } from "../errors/errors.ts";
import { describeObject } from "../release/identity.ts";
import { type Grant, normalizeRule, type PolicyRule } from "./policyRule.ts";

/**
 * How an installer may write roles with permissions that it does not have:
 * - `escalate`: it has the verbs escalate and bind on exactly these roles, which needs few rules and is safe if the bundle is trusted
 * - `union`: it has every permission that the roles grant, so it cannot grant anything else
 */
export type RoleStrategy = "escalate" | "union";

const RBAC = "rbac.authorization.k8s.io";
/**
 * Maximum number of permissions of the roles in one scope: the product of groups, resources, names and verbs. Ten times that of the largest known role.
 */
const SCOPE_MAX = 100_000;
/** Maximum number of permissions of the roles in all scopes. Their expansion takes a few seconds of the main thread. */
const TOTAL_MAX = 250_000;

interface RoleRef {
  kind: string;
  name: string;
}

/** Reports whether an installer has `rules` in a namespace; "" is the cluster scope. */
export type PermissionHolder = (namespace: string, rules: readonly PolicyRule[]) => boolean;

/** How roles are written. */
export interface EscalationOptions {
  strategy: RoleStrategy;
  /** All objects of the set. The rules of a role outside the set are unknown, so it requires `bind` even with `union`. */
  objects: readonly KubeObject[];
  isHeld?: PermissionHolder;
}

/**
 * Returns the additional verbs for writing a role or binding, in the object's own scope. The API server checks `bind` in the binding's namespace,
 * even on a ClusterRole. Neither verb is needed for rules that the installer already has in that scope.
 */
export function computeEscalationGrants(object: KubeObject, namespace: string, options: EscalationOptions): Grant[] {
  if (getGroup(object.apiVersion) !== RBAC) return [];
  const { strategy, objects, isHeld = () => false } = options;
  const isFree = (role: KubeObject): boolean => !isAggregated(role) && (strategy === "union" || isHeld(namespace, readRules(role)));
  if (isRole(object)) {
    if (isFree(object) || (readRules(object).length === 0 && !isAggregated(object))) return [];
    return [{ group: RBAC, resource: getPlural(object.kind), name: object.metadata.name, verb: "escalate" }];
  }
  const ref = readRoleRef(object);
  if (!ref) return [];
  if (objects.some((role) => isRole(role) && isNamedBy(role, ref, object) && isFree(role))) return [];
  return [{ group: RBAC, resource: getPlural(ref.kind), name: ref.name, verb: "bind" }];
}

/** The rules that mode `union` requires of an installer that writes roles, by scope; "" is the cluster scope. Counts their permissions. */
export class UnionRules {
  readonly #rules = new Map<string, PolicyRule[]>();
  readonly #counts = new Map<string, number>();
  #total = 0;

  /**
   * Adds the rules of an object if it is a role; the rules of aggregated roles are unknown.
   * @throws TerminalError Blocked if the roles grant too many permissions
   */
  add(object: KubeObject, namespace: string): void {
    if (!isRole(object) || isAggregated(object)) return;
    const rules = readRules(object);
    const count = countPermissions(rules);
    const ofScope = (this.#counts.get(namespace) ?? 0) + count;
    this.#counts.set(namespace, ofScope);
    this.#total += count;
    if (ofScope > SCOPE_MAX) throw newTooMany(`the roles of the bundle ${formatScope(namespace)} grant`, ofScope, SCOPE_MAX);
    if (this.#total > TOTAL_MAX) throw newTooMany("the roles of the bundle in all namespaces grant", this.#total, TOTAL_MAX);
    const known = this.#rules.get(namespace) ?? [];
    known.push(...rules.map(normalizeRule));
    this.#rules.set(namespace, known);
  }

  /** Returns the rules of a scope. */
  of(namespace: string): readonly PolicyRule[] {
    return this.#rules.get(namespace) ?? [];
  }

  /** Returns the scopes with rules. */
  get scopes(): readonly string[] {
    return [...this.#rules.keys()];
  }
}

function formatScope(namespace: string): string {
  return namespace === "" ? "in the cluster scope" : `in namespace "${namespace}"`;
}

function newTooMany(what: string, count: number, max: number): TerminalError {
  return new TerminalError(
    "Blocked",
    `${what} ${count} permissions (verbs × API groups × resources × names), more than the ${max} allowed`,
  );
}

function isRole({ kind, apiVersion }: KubeObject): boolean {
  return getGroup(apiVersion) === RBAC && (kind === "Role" || kind === "ClusterRole");
}

/** The API server sets the rules of an aggregated ClusterRole. To write one, the installer needs all permissions or `escalate`. */
function isAggregated(role: KubeObject): boolean {
  return role["aggregationRule"] !== undefined && role["aggregationRule"] !== null;
}

function isNamedBy(role: KubeObject, ref: RoleRef, binding: KubeObject): boolean {
  if (role.kind !== ref.kind || role.metadata.name !== ref.name) return false;
  return role.kind === "ClusterRole" || role.metadata.namespace === binding.metadata.namespace;
}

/**
 * Returns the valid rules of a role; the API server rejects the others.
 * @throws TerminalError Blocked if there are too many permissions
 */
function readRules(role: KubeObject): PolicyRule[] {
  const rules: unknown = role["rules"];
  const read = (Array.isArray(rules) ? rules : []).map(ruleFrom);
  const count = countPermissions(read);
  if (count > SCOPE_MAX) throw newTooMany(`${describeObject(role)} grants`, count, SCOPE_MAX);
  return read;
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

function countPermissions(rules: readonly PolicyRule[]): number {
  return rules.reduce(
    (sum, { apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [], verbs }) =>
      sum + verbs.length * (nonResourceURLs.length + apiGroups.length * resources.length * Math.max(1, resourceNames.length)),
    0,
  );
}

/** Undefined if the roleRef is incomplete, which the API server rejects. */
function readRoleRef(binding: KubeObject): RoleRef | undefined {
  const { kind, name } = (binding["roleRef"] ?? {}) as Partial<Record<keyof RoleRef, unknown>>;
  return typeof kind === "string" && typeof name === "string" ? { kind, name } : undefined;
}

function getPlural(kind: string): string {
  return `${kind.toLowerCase()}s`;
}
