import type { KubeObject } from "../api/k8s.ts";
import { heldRules } from "./escalation.ts";
import type { PolicyRule } from "./policyRule.ts";
import type { RequiredRules } from "./rules.ts";

/** What the roles among `objects` give to whoever they are bound to, each in its own scope; rules of aggregated roles are not known. */
export function givenRules(objects: readonly KubeObject[], installNamespace: string): RequiredRules {
  const given = new Map<string, PolicyRule[]>();
  for (const role of objects) {
    const namespace = role.kind === "Role" ? role.metadata.namespace || installNamespace : "";
    given.set(namespace, [...(given.get(namespace) ?? []), ...heldRules(role, "union")]);
  }
  const { "": clusterRules = [], ...namespaces } = Object.fromEntries(given);
  const namespaceRules = new Map(Object.entries(namespaces).sort(([a], [b]) => (a < b ? -1 : 1)));
  return { clusterRules, namespaceRules, unknownKinds: [] };
}
