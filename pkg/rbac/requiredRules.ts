import type { ValuesSource } from "../api/extensionConfig.ts";
import { type GroupVersionKind, getGroup, type KubeObject } from "../api/k8s.ts";
import { listCertificateSecrets } from "../certificates/desiredCertificates.ts";
import { readCrdVersions } from "../crdsafety/crdParts.ts";
import { isCrd, requireIdentities } from "../release/identity.ts";
import type { CrdPolicy } from "../release/plan.ts";
import { compareText } from "../text/compare.ts";
import { computeEscalationGrants, type HeldRoles, type RoleStrategy, UnionRules } from "./escalation.ts";
import { buildRules, type Grant, type PolicyRule, removeCovered } from "./policyRule.ts";
import { findKnownResource, type Resource, type ResourceOf, readDefinedResource } from "./resources.ts";

/** The permissions that an installer needs, by scope: the whole cluster, or single namespaces. */
export interface RequiredRules {
  clusterRules: PolicyRule[];
  /** Rules by namespace, in order of name. */
  namespaceRules: Map<string, PolicyRule[]>;
  /** Kinds with an unknown resource; the rules do not include them. */
  unknownKinds: GroupVersionKind[];
}

/** Options for computing the rules. */
export interface RuleOptions {
  /** The namespace for namespaced objects that have none. */
  installNamespace: string;
  /**
   * Looks up resources first, for example in the cluster's discovery. Kinds that it does not know are looked up in well-known ones and in the CRDs of
   * the set.
   */
  resourceOf?: ResourceOf;
  /** How the installer may write roles with permissions that it does not have. Default: `escalate`. */
  strategy?: RoleStrategy;
  /** The effect of an uninstall on CRDs, which determines permissions on them and on their custom resources. Default `DeleteIfUnused`. */
  crdPolicy?: CrdPolicy;
  /** Whether spec.install.storageMigration is Automatic: the installer stores custom resources again before an upgrade. Default false. */
  migratesStorage?: boolean;
  /** Objects of an earlier version that this one removes. */
  pruned?: readonly KubeObject[];
  /** Excludes optional permissions: watching the objects, and reading Pods, quotas and custom resources. Default false. */
  essentialOnly?: boolean;
  /** The sources in `spec.config.valuesFrom`, in the install namespace. */
  valuesFrom?: readonly Pick<ValuesSource, "kind" | "name">[];
  /**
   * The roles whose permissions the installer is known to have. To grant those, it needs neither
   * escalate nor bind.
   */
  held?: HeldRoles;
}

/** Verbs granted by object name: read, create and change with server-side apply (which is authorized with the object's name), and delete. */
const APPLY_VERBS = ["get", "create", "patch"];
const WATCH_VERBS = ["list", "watch"];
const CUSTOM_RESOURCE_VERBS = { Retain: [], DeleteIfUnused: ["list"], Delete: ["get", "list", "delete"] } as const;
/** Workloads whose Pods are read to explain why they are not ready. */
const WORKLOADS: ReadonlySet<string> = new Set(["DaemonSet", "Deployment", "Job", "StatefulSet"]);

/** A permission with its scope; "" is the cluster scope. */
interface PlacedGrant extends Grant {
  namespace: string;
}

/**
 * Returns the rules with which a ServiceAccount can install, upgrade, watch and uninstall exactly `objects`, including the Secrets of serving
 * certificates that operator-controller provides.
 * They are valid for one version, because names of generated roles change with their content; `mergeRequiredRules` merges several versions. No permission
 * on the extension's finalizers is needed, because our ownerReferences do not block its deletion.
 * @throws TerminalError Blocked for objects without kind or name, and for roles with too many permissions
 * @see https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping
 */
export function computeRequiredRules(objects: readonly KubeObject[], options: RuleOptions): RequiredRules {
  const { pruned = [], strategy = "escalate" } = options;
  requireIdentities([...objects, ...pruned]);
  const grants: PlacedGrant[] = [];
  const union = new UnionRules();
  const unknown = new Map<string, GroupVersionKind>();
  const find = finderFrom([...objects, ...pruned], options.resourceOf);
  const place = (gvk: KubeObject): (Resource & { namespace: string }) | undefined => {
    const found = find(gvk);
    if (!found) unknown.set(`${getGroup(gvk.apiVersion)}/${gvk.kind}`, { apiVersion: gvk.apiVersion, kind: gvk.kind });
    return found && { ...found, namespace: found.namespaced ? gvk.metadata.namespace || options.installNamespace : "" };
  };
  for (const object of objects) {
    const found = place(object);
    if (!found) continue;
    const { namespace } = found;
    if (options.migratesStorage) grants.push(...listMigrationGrants(object).map((grant) => ({ ...grant, namespace: "" })));
    grants.push(...grantsOn(object, found, [...APPLY_VERBS, ...(options.essentialOnly ? [] : WATCH_VERBS)], options));
    const roles = { strategy, objects, held: options.held };
    grants.push(...computeEscalationGrants(object, namespace, roles).map((grant) => ({ ...grant, namespace })));
    if (!options.essentialOnly && WORKLOADS.has(object.kind)) grants.push({ namespace, group: "", resource: "pods", verb: "list" });
    if (!options.essentialOnly && namespace !== "") grants.push({ namespace, group: "", resource: "resourcequotas", verb: "list" });
    if (strategy === "union") union.add(object, namespace);
  }
  for (const secret of listCertificateSecrets(objects)) {
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
  const byNamespace = Map.groupBy(grants, ({ namespace }) => namespace);
  const getRules = (where: string): PolicyRule[] => removeCovered([...buildRules(byNamespace.get(where) ?? []), ...union.of(where)]);
  const namespaces = [...byNamespace.keys()].filter((namespace) => namespace !== "").sort();
  return {
    clusterRules: getRules(""),
    namespaceRules: new Map(namespaces.map((namespace) => [namespace, getRules(namespace)])),
    unknownKinds: [...unknown.values()],
  };
}

/** Returns `verbs` on one object and the permissions for its removal; for a CRD also those on its custom resources that the policy requires. */
function grantsOn(
  object: KubeObject,
  { group, resource, namespace }: Resource & { namespace: string },
  verbs: readonly string[],
  { crdPolicy = "DeleteIfUnused", essentialOnly = false }: RuleOptions,
): PlacedGrant[] {
  const defined = readDefinedResource(object);
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

/** Returns the permissions to store the custom resources of a CRD again, and to remove versions from its status; empty for other objects. */
function listMigrationGrants(object: KubeObject): Grant[] {
  const defined = readDefinedResource(object);
  if (!defined) return [];
  const { group, resource } = defined;
  return [...["list", "patch"].map((verb) => ({ group, resource, verb })), getStoredVersionsGrant(object.metadata.name)];
}

function finderFrom(objects: readonly KubeObject[], resourceOf: ResourceOf | undefined): (gvk: GroupVersionKind) => Resource | undefined {
  const defined = objects.flatMap((object) => readDefinedResource(object) ?? []);
  return (gvk) =>
    resourceOf?.(gvk) ??
    findKnownResource(gvk) ??
    defined.find(({ group, kind }) => group === getGroup(gvk.apiVersion) && kind === gvk.kind);
}

/** Returns the permission to remove versions from `status.storedVersions` of a CRD. */
export function getStoredVersionsGrant(crd: string): Grant {
  return { group: "apiextensions.k8s.io", resource: "customresourcedefinitions/status", name: crd, verb: "patch" };
}

/**
 * Returns the additional permissions for upgrades from one of these bundles to a later one: if an upgrade removes a CRD version in which objects were
 * stored, that version must first be removed from the CRD's status.
 * @param bundles objects of each bundle, oldest first
 */
export function computeStoredVersionRules(bundles: readonly (readonly KubeObject[])[]): RequiredRules {
  const names = new Set<string>();
  bundles.forEach((objects, at) => {
    for (const before of objects.filter(isCrd)) {
      const { name } = before.metadata;
      const left = readCrdVersions(before).filter(({ storage }) => !storage);
      const later = bundles.slice(at + 1).flatMap((others) => others.filter((object) => isCrd(object) && object.metadata.name === name));
      if (later.some((after) => left.some((version) => !readCrdVersions(after).some((other) => other.name === version.name))))
        names.add(name);
    }
  });
  return buildStoredVersionRules([...names]);
}

/** Returns the permissions to remove versions from the status of these CRDs. */
export function buildStoredVersionRules(crds: readonly string[]): RequiredRules {
  return { clusterRules: buildRules(crds.map(getStoredVersionsGrant)), namespaceRules: new Map(), unknownKinds: [] };
}

/** Returns the rules that the roles in `objects` grant, each in its own scope; rules of aggregated roles are unknown. */
export function computeGrantedRules(objects: readonly KubeObject[], installNamespace: string): RequiredRules {
  const given = new UnionRules();
  for (const role of objects) given.add(role, role.kind === "Role" ? role.metadata.namespace || installNamespace : "");
  const namespaces = given.scopes.filter((namespace) => namespace !== "").toSorted(compareText);
  const namespaceRules = new Map(namespaces.map((namespace) => [namespace, [...given.of(namespace)]]));
  return { clusterRules: [...given.of("")], namespaceRules, unknownKinds: [] };
}
