import { GROUP, getCatalogdNamespace, PERMISSION_ADMISSION_POLICIES } from "../api/constants.ts";

/** An entry of a ClusterOperator's `listRelatedObjects`. An empty name means all objects of the resource. */
export interface ObjectReference {
  /** Empty for the core group. */
  readonly group: string;
  readonly resource: string;
  readonly namespace?: string;
  readonly name: string;
}

const ADMISSION = "admissionregistration.k8s.io";
const RBAC = "rbac.authorization.k8s.io";

const PERMISSION_MANAGER = "permission-manager-controller-manager";

type Component = "catalogd" | "operator-controller";

/**
 * Returns the objects of this operator, which must-gather collects: all objects in the manifests in `config`, in the
 * order of their files (managers, namespace, definitions, permissions, network), and all custom resources. Omits
 * Secrets with serving certificates: must-gather archives are sent to support, and `config/openshift` contains no
 * Secrets.
 * @param namespace of operator-controller.
 * @param hasOlm whether OLM `cluster` exists: then also it and the namespace of cluster-olm-operator, which lists the two
 * @see
 * https://github.com/openshift/cluster-olm-operator/blob/797eaf07/cmd/cluster-olm-operator/main.go
 */
export function listRelatedObjects(namespace: string, { hasOlm = false } = {}): ObjectReference[] {
  const catalogd = getCatalogdNamespace(namespace);
  const namespaces = [...new Set([namespace, catalogd])];
  return [
    { group: "apps", resource: "deployments", namespace: catalogd, name: "catalogd-controller-manager" },
    { group: "", resource: "services", namespace: catalogd, name: "catalogd-service" },
    { group: "policy", resource: "poddisruptionbudgets", namespace: catalogd, name: "catalogd-controller-manager" },
    { group: "apps", resource: "deployments", namespace, name: "operator-controller-controller-manager" },
    { group: "", resource: "services", namespace, name: "operator-controller-service" },
    { group: "policy", resource: "poddisruptionbudgets", namespace, name: "operator-controller-controller-manager" },
    { group: "apps", resource: "deployments", namespace, name: PERMISSION_MANAGER },
    { group: "policy", resource: "poddisruptionbudgets", namespace, name: PERMISSION_MANAGER },
    ...namespaces.map((name) => ({ group: "", resource: "namespaces", name })),
    ...["clustercatalogs", "clusterextensions", "extensionpermissions", "permissionpolicies"].map((plural) => ({
      group: "apiextensions.k8s.io",
      resource: "customresourcedefinitions",
      name: `${plural}.${GROUP}`,
    })),
    ...listPermissions("catalogd", catalogd),
    { group: ADMISSION, resource: "validatingadmissionpolicies", name: "operator-controller-dependencies" },
    { group: ADMISSION, resource: "validatingadmissionpolicybindings", name: "operator-controller-dependencies" },
    ...listMetricsPermissions("operator-controller"),
    { group: RBAC, resource: "clusterroles", name: "operator-controller-resolution-reader" },
    ...listMetricsPermissions("catalogd"),
    ...listPermissions("operator-controller", namespace),
    { group: "", resource: "serviceaccounts", namespace, name: PERMISSION_MANAGER },
    { group: RBAC, resource: "clusterroles", name: "permission-manager" },
    { group: RBAC, resource: "clusterrolebindings", name: "permission-manager" },
    { group: RBAC, resource: "roles", namespace, name: "permission-manager" },
    { group: RBAC, resource: "rolebindings", namespace, name: "permission-manager" },
    { group: RBAC, resource: "roles", namespace: "default", name: "permission-manager-events-role" },
    { group: RBAC, resource: "rolebindings", namespace: "default", name: "permission-manager-events-rolebinding" },
    { group: RBAC, resource: "clusterroles", name: "operator-controller-permission-requests" },
    { group: RBAC, resource: "clusterrolebindings", name: "operator-controller-permission-requests" },
    ...namespaces.map((one) => networkPolicy(one, "default-deny-all-traffic")),
    networkPolicy(namespace, "operator-controller-controller-manager"),
    networkPolicy(catalogd, "catalogd-controller-manager"),
    networkPolicy(namespace, PERMISSION_MANAGER),
    ...PERMISSION_ADMISSION_POLICIES.flatMap((name) => [
      { group: ADMISSION, resource: "validatingadmissionpolicies", name },
      { group: ADMISSION, resource: "validatingadmissionpolicybindings", name },
    ]),
    ...["clusterextensions", "clustercatalogs", "extensionpermissions", "permissionpolicies"].map((resource) => ({
      group: GROUP,
      resource,
      name: "",
    })),
    ...(hasOlm
      ? [
          { group: "operator.openshift.io", resource: "olms", name: "cluster" },
          { group: "", resource: "namespaces", name: "openshift-cluster-olm-operator" },
        ]
      : []),
  ];
}

function networkPolicy(namespace: string, name: string): ObjectReference {
  return { group: "networking.k8s.io", resource: "networkpolicies", namespace, name };
}

function listPermissions(component: Component, namespace: string): ObjectReference[] {
  const manager = `${component}-manager`;
  const events = `${component}-events`;
  return [
    { group: "", resource: "serviceaccounts", namespace, name: `${component}-controller-manager` },
    { group: RBAC, resource: "clusterroles", name: `${manager}-role` },
    { group: RBAC, resource: "clusterrolebindings", name: `${manager}-rolebinding` },
    { group: RBAC, resource: "roles", namespace, name: `${manager}-role` },
    { group: RBAC, resource: "rolebindings", namespace, name: `${manager}-rolebinding` },
    { group: RBAC, resource: "roles", namespace: "default", name: `${events}-role` },
    { group: RBAC, resource: "rolebindings", namespace: "default", name: `${events}-rolebinding` },
  ];
}

/** Returns the roles of a component that serves metrics, and of the clients that read these metrics. */
function listMetricsPermissions(component: Component): ObjectReference[] {
  return [
    { group: RBAC, resource: "clusterroles", name: `${component}-proxy-role` },
    { group: RBAC, resource: "clusterrolebindings", name: `${component}-proxy-rolebinding` },
    { group: RBAC, resource: "clusterroles", name: `${component}-metrics-reader` },
  ];
}
