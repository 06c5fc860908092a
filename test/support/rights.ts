import { ruleDetails } from "../../pkg/operatorcontroller/permissions/permissions.ts";
import { type Grant, grantsOf, rulesFrom } from "../../pkg/rbac/policyRule.ts";
import { type RequiredRules, requiredRules } from "../../pkg/rbac/requiredRules.ts";
import { unionOf } from "../../pkg/rbac/ruleSets.ts";
import type { Request } from "./auditTail.ts";
import type { OperatorVersion, RealOperator } from "./realOperator.ts";

/** A right and the namespace in which it holds; "" is the cluster. */
export interface Right extends Grant {
  scope: string;
}

/** The rules with which an operator's installer can have all of these versions. */
export function rulesOf({ namespace }: RealOperator, versions: readonly OperatorVersion[]): RequiredRules {
  return unionOf(versions.map(({ objects }) => requiredRules(objects, { installNamespace: namespace })));
}

/** Every single right that rules give. */
export function rightsOf({ clusterRules, namespaceRules }: RequiredRules): Right[] {
  return [["", clusterRules] as const, ...namespaceRules].flatMap(([scope, rules]) =>
    rules.flatMap(grantsOf).map((grant) => ({ scope, ...grant })),
  );
}

/** Rules that give exactly these rights. */
export function rulesFromRights(rights: readonly Right[]): RequiredRules {
  const scopes = [...new Set(rights.map(({ scope }) => scope))].filter((scope) => scope !== "");
  const rulesIn = (where: string): RequiredRules["clusterRules"] => rulesFrom(rights.filter(({ scope }) => scope === where));
  return { clusterRules: rulesIn(""), namespaceRules: new Map(scopes.map((scope) => [scope, rulesIn(scope)])), unknownKinds: [] };
}

/** The details of a problem about this right, which is missing. */
export function missingDetails(right: Right): ReturnType<typeof ruleDetails> {
  return ruleDetails(rulesFromRights([right]));
}

/** Such as `patch roles/x in ns`, for messages of a test. */
export function describeRight({ verb, resource, name, scope }: Right): string {
  return `${verb} ${resource}${name === undefined ? "" : `/${name}`}${scope === "" ? "" : ` in ${scope}`}`;
}

/**
 * Whether a request is one for which the right is asked. A create by apply is a patch that answers 201, or is refused where nothing is; escalate and
 * bind are asked for within the writing of a role and of a binding.
 */
export function asksFor({ verb: asked, code, ref }: Request, { scope, group, resource, name, verb }: Right): boolean {
  if (ref.namespace !== scope || ref.group !== group || ref.subresource !== "") return false;
  if (verb === "bind") return asked === "patch" && ref.resource.endsWith("rolebindings");
  if (ref.resource !== resource || (name !== undefined && ref.name !== name)) return false;
  if (verb === "create") return asked === "patch" && (code === 201 || code === 403);
  return asked === (verb === "escalate" ? "patch" : verb);
}
