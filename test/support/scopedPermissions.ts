import { toRuleDetails } from "../../pkg/operatorcontroller/permissions/permissions.ts";
import { buildRules, type Grant, splitRule } from "../../pkg/rbac/policyRule.ts";
import { computeRequiredRules, type RequiredRules } from "../../pkg/rbac/requiredRules.ts";
import { mergeRequiredRules } from "../../pkg/rbac/ruleSets.ts";
import type { Request } from "./auditTail.ts";
import type { OperatorVersion, RealOperator } from "./realOperator.ts";

/** A permission and its namespace; "" is the cluster. */
export interface ScopedPermission extends Grant {
  scope: string;
}

/** Returns the rules that an operator's installer needs to install all of these versions. */
export function computeOperatorRules({ namespace }: RealOperator, versions: readonly OperatorVersion[]): RequiredRules {
  return mergeRequiredRules(versions.map(({ objects }) => computeRequiredRules(objects, { installNamespace: namespace })));
}

/** Splits rules into single permissions. */
export function splitPermissions({ clusterRules, namespaceRules }: RequiredRules): ScopedPermission[] {
  return [["", clusterRules] as const, ...namespaceRules].flatMap(([scope, rules]) =>
    rules.flatMap(splitRule).map((grant) => ({ scope, ...grant })),
  );
}

/** Creates rules with exactly these permissions. */
export function buildRulesFrom(permissions: readonly ScopedPermission[]): RequiredRules {
  const scopes = [...new Set(permissions.map(({ scope }) => scope))].filter((scope) => scope !== "");
  const rulesIn = (where: string): RequiredRules["clusterRules"] => buildRules(permissions.filter(({ scope }) => scope === where));
  return { clusterRules: rulesIn(""), namespaceRules: new Map(scopes.map((scope) => [scope, rulesIn(scope)])), unknownKinds: [] };
}

/** Returns the details of a problem that this permission is missing. */
export function getMissingDetails(permission: ScopedPermission): ReturnType<typeof toRuleDetails> {
  return toRuleDetails(buildRulesFrom([permission]));
}

/** Formats a permission such as `patch roles/x in ns`, for messages of a test. */
export function formatScopedPermission({ verb, resource, name, scope }: ScopedPermission): string {
  return `${verb} ${resource}${name === undefined ? "" : `/${name}`}${scope === "" ? "" : ` in ${scope}`}`;
}

/**
 * Whether a request needs the permission. A create by apply is a patch with status 201, or a denied patch of a missing object; escalate and
 * bind are checked during the write of a role and of a binding. Permissions on all objects of a kind in the cluster also apply in namespaces.
 */
export function needsPermission(
  { verb: requestVerb, code, ref }: Request,
  { scope, group, resource, name, verb }: ScopedPermission,
): boolean {
  const isInScope = ref.namespace === scope || (scope === "" && name === undefined);
  if (!isInScope || ref.group !== group) return false;
  const requested = ref.subresource === "" ? ref.resource : `${ref.resource}/${ref.subresource}`;
  if (verb === "bind") return requestVerb === "patch" && requested.endsWith("rolebindings");
  if (requested !== resource || (name !== undefined && ref.name !== name)) return false;
  if (verb === "create") return requestVerb === "patch" && (code === 201 || code === 403);
  return requestVerb === (verb === "escalate" ? "patch" : verb);
}
