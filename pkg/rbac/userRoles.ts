import { getGroup, type KubeObject } from "../api/k8s.ts";
import { listAggregatedApis } from "../bundle/apiServices.ts";
import { isCrd } from "../release/identity.ts";
import type { PolicyRule } from "./policyRule.ts";
import { readDefinedResource } from "./resources.ts";

const RBAC_API = "rbac.authorization.k8s.io/v1";
const AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-";

/** A role for users of an API. */
interface UserRole {
  suffix: string;
  verbs: string[];
  /**
   * The cluster roles that aggregate this role. They do not inherit from each other, so the permissions of view are listed for edit and admin too.
   */
  into: readonly ("admin" | "edit" | "view")[];
}

const ON_RESOURCES: readonly UserRole[] = [
  { suffix: "admin", verbs: ["*"], into: ["admin"] },
  { suffix: "edit", verbs: ["create", "update", "patch", "delete"], into: ["admin", "edit"] },
  { suffix: "view", verbs: ["get", "list", "watch"], into: ["admin", "edit", "view"] },
];
const ON_DEFINITION: UserRole = { suffix: "view-crdview", verbs: ["get"], into: ["admin", "edit", "view"] };

/**
 * Returns for each CRD in `objects` the ClusterRoles `<plural>.<group>-<version>-{admin,edit,view,view-crdview}`, which add permissions for its
 * custom resources to the cluster roles admin, edit and view; the version is the stored one. For each kind of an APIService the same, without
 * the role for its definition. Ignores other objects. In the order of the CRDs, then of the APIServices.
 * @see operator-lifecycle-manager 992bb0977 pkg/controller/operators/olm/operatorgroup.go, ensureClusterRolesForCSV
 */
export function buildUserRoles(objects: readonly KubeObject[]): KubeObject[] {
  const ofDefinitions = objects.filter(isCrd).flatMap((crd) => {
    const defined = readDefinedResource(crd);
    if (!defined) return [];
    const prefix = `${crd.metadata.name}-${getStoredVersion(crd)}`;
    const { group, resource } = defined;
    const definition: PolicyRule = {
      apiGroups: [getGroup(crd.apiVersion)],
      resources: ["customresourcedefinitions"],
      resourceNames: [crd.metadata.name],
      verbs: ON_DEFINITION.verbs,
    };
    return [...buildRoles(prefix, group, resource), clusterRole(prefix, ON_DEFINITION, definition)];
  });
  const ofApiServices = listAggregatedApis(objects).flatMap(({ group, version, name }) =>
    buildRoles(`${name}.${group}-${version}`, group, name),
  );
  return [...ofDefinitions, ...ofApiServices];
}

function buildRoles(prefix: string, group: string, resource: string): KubeObject[] {
  return ON_RESOURCES.map((role) => clusterRole(prefix, role, { apiGroups: [group], resources: [resource], verbs: role.verbs }));
}

function clusterRole(prefix: string, { suffix, into }: UserRole, rule: PolicyRule): KubeObject {
  const labels = Object.fromEntries(into.map((role) => [AGGREGATE + role, "true"]));
  return { apiVersion: RBAC_API, kind: "ClusterRole", metadata: { name: `${prefix}-${suffix}`, labels }, rules: [rule] };
}

function getStoredVersion(crd: KubeObject): string {
  const spec = crd["spec"] as { versions?: { name: string; storage?: boolean }[] } | undefined;
  const versions = spec?.versions ?? [];
  return (versions.find(({ storage }) => storage) ?? versions[0])?.name ?? "v1";
}
