import type { ValuesSource } from "../api/extensionConfig.ts";
import { type GroupVersionKind, groupOf, type KubeObject } from "../api/k8s.ts";
import { certificateSecrets } from "../certificates/wantedCertificates.ts";
import { versionsOf } from "../crdsafety/crdParts.ts";
import { isCrd, requireIdentities } from "../release/identity.ts";
import type { CrdPolicy } from "../release/plan.ts";
import { compareText } from "../text/compare.ts";
import { escalationGrants, type HeldCheck, heldRules, type RoleStrategy } from "./escalation.ts";
import { type Grant, type PolicyRule, rulesFrom, withoutCovered } from "./policyRule.ts";
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
  /** What uninstalling does to CRDs decides about rights on them and on their custom resources. Default `DeleteIfUnused`. */
  crdPolicy?: CrdPolicy;
  /** What an older version left behind and this one removes. */
  pruned?: readonly KubeObject[];
  /** Without the rights that an extension works without: watching its objects, and looking at Pods, quotas and custom resources. Default false. */
  essentialOnly?: boolean;
  /** What `spec.config.valuesFrom` names, in the install namespace. */
  valuesFrom?: readonly Pick<ValuesSource, "kind" | "name">[];
  /** Whether the installer is known to hold `rules` in `namespace` ("" is the cluster): to hand those on takes neither escalate nor bind. */
  isHeld?: HeldCheck;
}

/** By name; reading, creating and changing by server-side apply (a create is authorised with its name), removing. */
const APPLY_VERBS = ["get", "create", "patch"];
const WATCH_VERBS = ["list", "watch"];
const CUSTOM_RESOURCE_VERBS = { Retain: [], DeleteIfUnused: ["list"], Delete: ["get", "list", "delete"] } as const;
/** Of these the Pods are looked at, to say why they are not ready. */
const WORKLOADS: ReadonlySet<string> = new Set(["DaemonSet", "Deployment", "Job", "StatefulSet"]);

/** A right and where it must hold; "" is the cluster. */
interface PlacedGrant extends Grant {
  namespace: string;
}

/**
 * The rules with which a ServiceAccount can install, upgrade, watch and uninstall exactly `objects`, and nothing else.
 * Where operator-controller provides serving certificates, their Secrets are among them.
 * They hold for one version: names of generated roles change with their content. `unionOf` puts several versions together.
 * Nothing is needed on the extension itself, such as its finalizers: the ownerReferences that we write do not block its deletion.
 * @throws TerminalError Blocked on objects without kind or name.
 * @see https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping
 */
export function requiredRules(objects: readonly KubeObject[], options: RuleOptions): RequiredRules {
  const { pruned = [], strategy = "escalate" } = options;
  requireIdentities([...objects, ...pruned]);
  const grants: PlacedGrant[] = [];
  const held = new Map<string, PolicyRule[]>();
  const unknown = new Map<string, GroupVersionKind>();
  const find = finderFrom([...objects, ...pruned], options.resourceOf);
  const place = (gvk: KubeObject): (Resource & { namespace: string }) | undefined => {
    const found = find(gvk);
    if (!found) unknown.set(`${groupOf(gvk.apiVersion)}/${gvk.kind}`, { apiVersion: gvk.apiVersion, kind: gvk.kind });
    return found && { ...found, namespace: found.namespaced ? gvk.metadata.namespace || options.installNamespace : "" };
  };
  for (const object of objects) {
    const found = place(object);
    if (!found) continue;
    const { namespace } = found;
    grants.push(...grantsOn(object, found, [...APPLY_VERBS, ...(options.essentialOnly ? [] : WATCH_VERBS)], options));
    const roles = { strategy, objects, ...(options.isHeld ? { isHeld: options.isHeld } : {}) };
    grants.push(...escalationGrants(object, namespace, roles).map((grant) => ({ ...grant, namespace })));
    if (!options.essentialOnly && WORKLOADS.has(object.kind)) grants.push({ namespace, group: "", resource: "pods", verb: "list" });
    if (!options.essentialOnly && namespace !== "") grants.push({ namespace, group: "", resource: "resourcequotas", verb: "list" });
    held.set(namespace, [...(held.get(namespace) ?? []), ...heldRules(object, strategy)]);
  }
  for (const secret of certificateSecrets(objects)) {
    const found = place(secret);
    if (found) grants.push(...grantsOn(secret, found, APPLY_VERBS, options));
  }
  for (const object of pruned) {
    const found = place(object);
    if (found) grants.push(...grantsOn(object, found, ["get"], options));
  }
  for (const { kind, name } of options.valuesFrom ?? []) {
    const { installNamespace: namespace, essentialOnly = false } = options;
    const resource = kind === "Secret" ? "secrets" : "configmaps";
    for (const verb of ["get", ...(essentialOnly ? [] : WATCH_VERBS)]) grants.push({ namespace, group: "", resource, name, verb });
  }
  const rulesOf = (where: string): PolicyRule[] =>
    withoutCovered([...rulesFrom(grants.filter(({ namespace }) => namespace === where)), ...(held.get(where) ?? [])]);
  const namespaces = [...new Set(grants.map(({ namespace }) => namespace))].filter((namespace) => namespace !== "").sort();
  return {
    clusterRules: rulesOf(""),
    namespaceRules: new Map(namespaces.map((namespace) => [namespace, rulesOf(namespace)])),
    unknownKinds: [...unknown.values()],
  };
}

/** `verbs` on one object and what its removal takes: of a CRD also rights on its custom resources, as far as the policy goes. */
function grantsOn(
  object: KubeObject,
  { group, resource, namespace }: Resource & { namespace: string },
  verbs: readonly string[],
  { crdPolicy = "DeleteIfUnused", essentialOnly = false }: RuleOptions,
): PlacedGrant[] {
  const defined = definedResource(object);
  const removal = isCrd(object) && crdPolicy === "Retain" ? [] : ["delete"];
  const onObject = [...verbs, ...removal].map((verb) => ({ namespace, group, resource, name: object.metadata.name, verb }));
  if (!defined || (essentialOnly && crdPolicy !== "Delete")) return onObject;
  const onCustomResources = CUSTOM_RESOURCE_VERBS[crdPolicy].map((verb) => ({
    namespace: "",
    group: defined.group,
    resource: defined.resource,
    verb,
  }));
  return [...onObject, ...onCustomResources];
}

function finderFrom(objects: readonly KubeObject[], resourceOf: ResourceOf | undefined): (gvk: GroupVersionKind) => Resource | undefined {
  const defined = objects.flatMap((object) => definedResource(object) ?? []);
  return (gvk) =>
    resourceOf?.(gvk) ?? knownResource(gvk) ?? defined.find(({ group, kind }) => group === groupOf(gvk.apiVersion) && kind === gvk.kind);
}

/** The right to take versions from `status.storedVersions` of a CRD. */
export function storedVersionsGrant(crd: string): Grant {
  return { group: "apiextensions.k8s.io", resource: "customresourcedefinitions/status", name: crd, verb: "patch" };
}

/**
 * What upgrades from one of these bundles to a later one take beside the rights for each of them: where a CRD loses a version in which objects
 * were stored and are written no more, that version has to be taken from its status first. No other upgrade needs this right.
 * @param bundles the objects of each, the oldest first.
 */
export function storedVersionRules(bundles: readonly (readonly KubeObject[])[]): RequiredRules {
  const names = new Set<string>();
  bundles.forEach((objects, at) => {
    for (const before of objects.filter(isCrd)) {
      const { name } = before.metadata;
      const left = versionsOf(before).filter(({ storage }) => !storage);
      const later = bundles.slice(at + 1).flatMap((others) => others.filter((object) => isCrd(object) && object.metadata.name === name));
      if (later.some((after) => left.some((version) => !versionsOf(after).some((other) => other.name === version.name)))) names.add(name);
    }
  });
  return { clusterRules: rulesFrom([...names].map(storedVersionsGrant)), namespaceRules: new Map(), unknownKinds: [] };
}

/** What the roles among `objects` give to whoever they are bound to, each in its own scope; rules of aggregated roles are not known. */
export function givenRules(objects: readonly KubeObject[], installNamespace: string): RequiredRules {
  const given = new Map<string, PolicyRule[]>();
  for (const role of objects) {
    const namespace = role.kind === "Role" ? role.metadata.namespace || installNamespace : "";
    given.set(namespace, [...(given.get(namespace) ?? []), ...heldRules(role, "union")]);
  }
  const { "": clusterRules = [], ...namespaces } = Object.fromEntries(given);
  const namespaceRules = new Map(Object.entries(namespaces).sort(([a], [b]) => compareText(a, b)));
  return { clusterRules, namespaceRules, unknownKinds: [] };
}
