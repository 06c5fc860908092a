import { getGroup, type JsonObject, type KubeObject } from "../api/k8s.ts";
import { TerminalError } from "../errors/errors.ts";
import { describeObject } from "../release/identity.ts";
import { type Grant, normalizeRule, type PolicyRule } from "./policyRule.ts";
import { RuleIndex } from "./ruleIndex.ts";

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
/**
 * Maximum number of permissions of the roles in all scopes, and of the permissions that are compared
 * with those of an installer. Their expansion takes a few seconds of the main thread.
 */
const TOTAL_MAX = 250_000;

interface RoleRef {
  kind: string;
  name: string;
}

/** How roles are written. */
export interface EscalationOptions {
  strategy: RoleStrategy;
  /** All objects of the set. The rules of a role outside the set are unknown, so it requires `bind` even with `union`. */
  objects: readonly KubeObject[];
  /** The roles whose permissions the installer has; default: none. */
  held?: HeldRoles | undefined;
}

/**
 * Returns the additional verbs for writing a role or binding, in the object's own scope. The API server checks `bind` in the binding's namespace,
 * even on a ClusterRole. Neither verb is needed for rules that the installer already has in that scope.
 */
export function computeEscalationGrants(object: KubeObject, namespace: string, options: EscalationOptions): Grant[] {
  if (getGroup(object.apiVersion) !== RBAC) return [];
  const { strategy, objects, held } = options;
  const isFree = (role: KubeObject): boolean => !isAggregated(role) && (strategy === "union" || (held?.has(role, namespace) ?? false));
  if (isRole(object)) {
    if (isFree(object) || (readRules(object).length === 0 && !isAggregated(object))) return [];
    return [{ group: RBAC, resource: getPlural(object.kind), name: object.metadata.name, verb: "escalate" }];
  }
  const ref = readRoleRef(object);
  if (!ref) return [];
  if (objects.some((role) => isNamedBy(role, ref, object) && isRole(role) && isFree(role))) return [];
  return [{ group: RBAC, resource: getPlural(ref.kind), name: ref.name, verb: "bind" }];
}

interface ComparedRole {
  readonly rules: readonly PolicyRule[];
  readonly count: number;
  /** Whether the installer has all permissions of the role, by namespace. */
  readonly results: Map<string, boolean>;
}

/**
 * Finds the roles of one bundle whose permissions an installer has: it may write and bind them
 * without the verbs `escalate` and `bind`. Compares each role once for each namespace, because a
 * bundle can bind a large role thousands of times.
 */
export class HeldRoles {
  readonly #listHeld: (namespace: string) => readonly PolicyRule[];
  readonly #indexes = new Map<string, RuleIndex>();
  readonly #roles = new Map<KubeObject, ComparedRole>();
  #left = TOTAL_MAX;

  /** @param listHeld returns the rules of the installer in a namespace; "" is the cluster scope. */
  constructor(listHeld: (namespace: string) => readonly PolicyRule[]) {
    this.#listHeld = listHeld;
  }

  /**
   * Reports whether the installer has all permissions of a role in a namespace. Returns false without
   * a comparison if the compared roles would have more than 250,000 permissions in total: the
   * installer then needs `escalate` and `bind`.
   * @throws TerminalError Blocked if there are too many permissions
   */
  has(role: KubeObject, namespace: string): boolean {
    const compared = this.#read(role);
    const isHeld = compared.results.get(namespace) ?? this.#compare(role, compared, namespace);
    compared.results.set(namespace, isHeld);
    return isHeld;
  }

  #read(role: KubeObject): ComparedRole {
    const known = this.#roles.get(role);
    if (known) return known;
    const rules = readRules(role);
    const read = { rules, count: countPermissions(rules), results: new Map<string, boolean>() };
    this.#roles.set(role, read);
    return read;
  }

  #compare(role: KubeObject, { rules, count }: ComparedRole, namespace: string): boolean {
    // Permissions in the cluster scope are valid in all namespaces.
    if (role.kind === "ClusterRole" && namespace !== "" && this.has(role, "")) return true;
    if (count > this.#left) return false;
    this.#left -= count;
    const index = this.#indexes.get(namespace) ?? new RuleIndex(this.#listHeld(namespace));
    this.#indexes.set(namespace, index);
    return index.hasAll(rules);
  }
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

/** Reports whether an object is a Role or ClusterRole. */
export function isRole({ kind, apiVersion }: KubeObject): boolean {
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
  const rules = parseRules(role);
  const count = countPermissions(rules);
  if (count > SCOPE_MAX) throw newTooMany(`${describeObject(role)} grants`, count, SCOPE_MAX);
  return rules;
}

/** Returns the valid rules of a role; undefined if there are too many permissions to compare. */
export function readComparableRules(role: KubeObject): PolicyRule[] | undefined {
  const rules = parseRules(role);
  return countPermissions(rules) > SCOPE_MAX ? undefined : rules;
}

function parseRules(role: KubeObject): PolicyRule[] {
  const rules: unknown = role["rules"];
  return (Array.isArray(rules) ? rules : []).map(ruleFrom);
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
