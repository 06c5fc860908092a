import { type GroupVersionKind, groupOf, type KubeObject } from "../api/k8s.ts";
import { requireIdentities } from "../release/identity.ts";
import { escalationGrants, heldRules, type RoleStrategy } from "./escalation.ts";
import { type Grant, rulesFrom } from "./grants.ts";
import { type PolicyRule, withoutCovered } from "./policyRule.ts";
import { definedResource, knownResource, type Resource, type ResourceOf } from "./resources.ts";

/** What an installer needs, by where it must hold: in the whole cluster, or in single namespaces. */
export interface RequiredRules {
  clusterRules: PolicyRule[];
  /** By namespace, in order of name. */
  namespaceRules: Map<string, PolicyRule[]>;
  /** Kinds whose resource is not known; the rules lack them. */
  unknownKinds: GroupVersionKind[];
}

/** How to derive the rules. */
export interface RuleOptions {
  /** For namespaced objects that name no namespace. */
  installNamespace: string;
  /** Such as the cluster's discovery; kinds it does not know are looked for among well-known ones and the CRDs of the set. */
  resourceOf?: ResourceOf;
  /** How the installer may write Roles that give more than it holds itself. Default `escalate`. */
  strategy?: RoleStrategy;
  /** What uninstalling does to CRDs decides about rights on their custom resources. Default `DeleteIfUnused`. */
  crdPolicy?: "DeleteIfUnused" | "Delete" | "Retain";
}

/** Reading, watching by name, creating and changing by server-side apply, removing. A create by apply is authorised with its name. */
const OBJECT_VERBS = ["get", "list", "watch", "create", "patch", "delete"];
const CUSTOM_RESOURCE_VERBS = { Retain: [], DeleteIfUnused: ["list"], Delete: ["get", "list", "delete"] } as const;

/**
 * The rules with which a ServiceAccount can install, upgrade, watch and uninstall exactly `objects`, and nothing else.
 * They hold for one version: names of generated roles change with their content. `unionOf` puts several versions together.
 * @throws TerminalError Blocked on objects without kind or name.
 * @see https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping
 */
export function requiredRules(objects: readonly KubeObject[], options: RuleOptions): RequiredRules {
  requireIdentities(objects);
  const scopes = new Map<string, Grant[]>([["", []]]);
  const held = new Map<string, PolicyRule[]>();
  const unknown = new Map<string, GroupVersionKind>();
  const grant = (namespace: string, grants: readonly Grant[]): unknown =>
    scopes.set(namespace, [...(scopes.get(namespace) ?? []), ...grants]);
  const find = finderFrom(objects, options.resourceOf);
  const strategy = options.strategy ?? "escalate";
  for (const object of objects) {
    const { apiVersion, kind } = object;
    const found = find(object);
    if (!found) {
      unknown.set(`${groupOf(apiVersion)}/${kind}`, { apiVersion, kind });
      continue;
    }
    const namespace = found.namespaced ? object.metadata.namespace || options.installNamespace : "";
    const { group, resource } = found;
    grant(
      namespace,
      OBJECT_VERBS.map((verb) => ({ group, resource, name: object.metadata.name, verb })),
    );
    grant(namespace, escalationGrants(object, strategy, objects));
    held.set(namespace, [...(held.get(namespace) ?? []), ...heldRules(object, strategy)]);
    const defined = definedResource(object);
    if (defined) {
      grant(
        "",
        CUSTOM_RESOURCE_VERBS[options.crdPolicy ?? "DeleteIfUnused"].map((verb) => ({
          group: defined.group,
          resource: defined.resource,
          verb,
        })),
      );
    }
  }
  const rulesOf = (namespace: string): PolicyRule[] =>
    withoutCovered([...rulesFrom(scopes.get(namespace) ?? []), ...(held.get(namespace) ?? [])]);
  const namespaces = [...scopes.keys()].filter((namespace) => namespace !== "").sort();
  return {
    clusterRules: rulesOf(""),
    namespaceRules: new Map(namespaces.map((namespace) => [namespace, rulesOf(namespace)])),
    unknownKinds: [...unknown.values()],
  };
}

function finderFrom(objects: readonly KubeObject[], resourceOf: ResourceOf | undefined): (gvk: GroupVersionKind) => Resource | undefined {
  const defined = objects.flatMap((object) => definedResource(object) ?? []);
  return (gvk) =>
    resourceOf?.(gvk) ?? knownResource(gvk) ?? defined.find(({ group, kind }) => group === groupOf(gvk.apiVersion) && kind === gvk.kind);
}
