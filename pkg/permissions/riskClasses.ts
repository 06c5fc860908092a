import { GROUP } from "../api/constants.ts";
import { intersects, type PolicyRule } from "../rbac/policyRule.ts";
import { formatOwnResource, type RiskSubject } from "./riskSubject.ts";

/** The risk of a permission. A holder of a root-equivalent permission can obtain every other permission on the cluster. */
export type RiskLevel = "RootEquivalent" | "Broad";

/** Where a permission applies: in all namespaces and to cluster-scoped objects, in a namespace of system components, or in another namespace. */
type RiskScope = "Cluster" | "ProtectedNamespace" | "Namespace";

/** Permissions with the same risk. */
export interface RiskClass {
  readonly name: string;
  readonly level: RiskLevel;
  readonly scopes: readonly RiskScope[];
  /** What a holder can do; follows "a holder". */
  readonly reason: string;
  /** A permission belongs to the class if it overlaps with one of these rules. */
  readonly rules: readonly PolicyRule[];
  /** Permissions on objects of the bundle only, by name, do not belong to the class. */
  readonly exemptOwn?: true;
  /** Permissions on these names only do not belong to the class. */
  readonly exemptNames?: ReadonlySet<string>;
  /** The verbs of the exemptions. Permissions with other verbs belong to the class. Default: all verbs. */
  readonly exemptVerbs?: readonly string[];
}

const RBAC = "rbac.authorization.k8s.io";
const CERTIFICATES = "certificates.k8s.io";
const ADMISSION_RESOURCES = [
  "mutatingadmissionpolicies",
  "mutatingadmissionpolicybindings",
  "mutatingwebhookconfigurations",
  "validatingadmissionpolicies",
  "validatingadmissionpolicybindings",
  "validatingwebhookconfigurations",
];
const MANAGED_RESOURCES = ["clustercatalogs", "clusterextensions", "extensionpermissions", "permissionpolicies"].flatMap((resource) => [
  resource,
  `${resource}/status`,
]);
const CHANGE = ["create", "update", "patch"];
const WRITE = [...CHANGE, "delete", "deletecollection"];
const READ = ["get", "list", "watch"];
const WORKLOADS: readonly PolicyRule[] = [
  { apiGroups: [""], resources: ["pods", "replicationcontrollers"], verbs: CHANGE },
  { apiGroups: ["apps"], resources: ["daemonsets", "deployments", "replicasets", "statefulsets"], verbs: CHANGE },
  { apiGroups: ["batch"], resources: ["cronjobs", "jobs"], verbs: CHANGE },
  { apiGroups: ["apps.openshift.io"], resources: ["deploymentconfigs"], verbs: CHANGE },
];
/** Roles of Kubernetes whose holders cannot obtain further permissions while the roles are unchanged. */
const HARMLESS_ROLES: ReadonlySet<string> = new Set(["system:auth-delegator", "extension-apiserver-authentication-reader", "view"]);
/** SecurityContextConstraints of OpenShift without access to the node while they are unchanged. */
const HARMLESS_CONSTRAINTS: ReadonlySet<string> = new Set([
  "anyuid",
  "nonroot",
  "nonroot-v2",
  "restricted",
  "restricted-v2",
  "restricted-v3",
]);
/**
 * ClusterRoles that are harmless in a namespace. `edit` and `admin` are not: they include
 * impersonation of the ServiceAccounts there.
 */
const HARMLESS_IN_NAMESPACE: ReadonlySet<string> = new Set([
  ...HARMLESS_ROLES,
  ...[...HARMLESS_CONSTRAINTS].map((name) => `system:openshift:scc:${name}`),
]);
const EVERYWHERE: readonly RiskScope[] = ["Cluster", "ProtectedNamespace", "Namespace"];
const OUTSIDE: readonly RiskScope[] = ["Cluster", "ProtectedNamespace"];

/**
 * All classes, root-equivalent ones first. A permission belongs to the first class that matches.
 * @see https://kubernetes.io/docs/concepts/security/rbac-good-practices/#privilege-escalation-risks
 */
export const RISK_CLASSES: readonly RiskClass[] = [
  {
    name: "RoleEscalation",
    level: "RootEquivalent",
    scopes: OUTSIDE,
    reason: "can grant any permission: edit a role, or bind an existing one",
    rules: [{ apiGroups: [RBAC], resources: ["clusterroles", "roles"], verbs: ["bind", "escalate"] }],
    exemptNames: HARMLESS_ROLES,
    exemptVerbs: ["bind"],
  },
  {
    // A role can contain permissions on the Namespace object. The rules of the bundle's own
    // ClusterRoles are among the permissions of the extension, and have classes themselves.
    name: "NamespaceEscalation",
    level: "RootEquivalent",
    scopes: ["Namespace"],
    reason: "can obtain every permission in its namespace, also to weaken its Pod Security and to act as the extension",
    rules: [
      { apiGroups: [RBAC], resources: ["clusterroles"], verbs: ["bind"] },
      { apiGroups: [RBAC], resources: ["roles"], verbs: ["escalate"] },
    ],
    exemptOwn: true,
    exemptNames: HARMLESS_IN_NAMESPACE,
    exemptVerbs: ["bind"],
  },
  {
    // In a namespace, the extension is one of the ServiceAccounts: admission lets no other client use
    // it, but does not see impersonation.
    name: "Impersonation",
    level: "RootEquivalent",
    scopes: EVERYWHERE,
    reason: "can act as other users, groups or ServiceAccounts",
    rules: [
      { apiGroups: [""], resources: ["groups", "serviceaccounts", "users"], verbs: ["impersonate"] },
      { apiGroups: ["authentication.k8s.io"], resources: ["uids", "userextras"], verbs: ["impersonate"] },
    ],
  },
  {
    name: "TokenRequest",
    level: "RootEquivalent",
    scopes: OUTSIDE,
    reason: "can create tokens for ServiceAccounts with more permissions",
    rules: [{ apiGroups: [""], resources: ["serviceaccounts/token"], verbs: ["create"] }],
  },
  {
    name: "CertificateApproval",
    level: "RootEquivalent",
    scopes: ["Cluster"],
    reason: "can issue client certificates for any user or node",
    rules: [
      { apiGroups: [CERTIFICATES], resources: ["certificatesigningrequests/approval"], verbs: ["update", "patch"] },
      { apiGroups: [CERTIFICATES], resources: ["signers"], verbs: ["approve", "sign"] },
      // kube-controller-manager approves requests for certificates of nodes itself.
      {
        apiGroups: [CERTIFICATES],
        resources: ["certificatesigningrequests/nodeclient", "certificatesigningrequests/selfnodeclient"],
        verbs: ["create"],
      },
    ],
  },
  {
    name: "NodeProxy",
    level: "RootEquivalent",
    scopes: ["Cluster"],
    reason: "can run commands in every Pod through the kubelet",
    rules: [{ apiGroups: [""], resources: ["nodes/proxy"], verbs: ["get", ...WRITE] }],
  },
  {
    name: "PodExec",
    level: "RootEquivalent",
    scopes: OUTSIDE,
    reason: "can run commands in Pods of other owners, with the permissions of their ServiceAccounts",
    rules: [
      { apiGroups: [""], resources: ["pods/attach", "pods/exec"], verbs: ["create", "get"] },
      { apiGroups: [""], resources: ["pods/ephemeralcontainers"], verbs: ["update", "patch"] },
    ],
  },
  {
    name: "AdmissionControl",
    level: "RootEquivalent",
    scopes: ["Cluster"],
    reason: "can read and change every object that is written, and disable admission policies",
    rules: [{ apiGroups: ["admissionregistration.k8s.io"], resources: ADMISSION_RESOURCES, verbs: WRITE }],
    exemptOwn: true,
  },
  {
    name: "ExtensionManagement",
    level: "RootEquivalent",
    scopes: ["Cluster"],
    reason: "can install extensions and catalogs, and approve permissions",
    rules: [{ apiGroups: [GROUP], resources: MANAGED_RESOURCES, verbs: [...WRITE, "approve", "use"] }],
  },
  {
    name: "ApiRouting",
    level: "RootEquivalent",
    scopes: ["Cluster"],
    reason: "can route the requests for any API to its own server",
    rules: [{ apiGroups: ["apiregistration.k8s.io"], resources: ["apiservices"], verbs: CHANGE }],
    exemptOwn: true,
  },
  {
    name: "PrivilegedPods",
    level: "RootEquivalent",
    scopes: EVERYWHERE,
    reason: "can run privileged Pods, which control their nodes",
    rules: [{ apiGroups: ["security.openshift.io"], resources: ["securitycontextconstraints"], verbs: [...CHANGE, "use"] }],
    exemptNames: HARMLESS_CONSTRAINTS,
    exemptVerbs: ["use"],
  },
  {
    // A role in a namespace can contain permissions on its Namespace object. In the whole cluster,
    // these permissions belong to class Namespaces.
    name: "PodSecurity",
    level: "RootEquivalent",
    scopes: ["ProtectedNamespace", "Namespace"],
    reason: "can weaken the Pod Security of its namespace, and then run privileged Pods, which control their nodes",
    // Writes of the subresources can also change labels.
    rules: [{ apiGroups: [""], resources: ["namespaces", "namespaces/finalize", "namespaces/status"], verbs: ["update", "patch"] }],
  },
  {
    name: "OperatorInstallation",
    level: "RootEquivalent",
    scopes: EVERYWHERE,
    reason: "can install operators through OLM v0, which is a cluster administrator",
    rules: [
      {
        apiGroups: ["operators.coreos.com"],
        resources: ["catalogsources", "clusterserviceversions", "installplans", "installplans/status", "operatorgroups", "subscriptions"],
        verbs: CHANGE,
      },
    ],
  },
  {
    name: "PlatformControl",
    level: "RootEquivalent",
    scopes: EVERYWHERE,
    reason: "can change the nodes, the release, or the users of OpenShift",
    rules: [
      { apiGroups: ["config.openshift.io"], resources: ["authentications", "clusterversions", "oauths"], verbs: CHANGE },
      { apiGroups: ["machine.openshift.io"], resources: ["machines", "machinesets"], verbs: CHANGE },
      {
        apiGroups: ["machineconfiguration.openshift.io"],
        resources: ["containerruntimeconfigs", "kubeletconfigs", "machineconfigs"],
        verbs: CHANGE,
      },
      { apiGroups: ["oauth.openshift.io"], resources: ["oauthaccesstokens", "oauthauthorizetokens"], verbs: ["create"] },
      { apiGroups: ["user.openshift.io"], resources: ["groups", "identities", "useridentitymappings", "users"], verbs: CHANGE },
    ],
  },
  {
    name: "HostVolumes",
    level: "RootEquivalent",
    scopes: ["Cluster"],
    reason: "can create volumes that contain files of a node",
    rules: [{ apiGroups: [""], resources: ["persistentvolumes"], verbs: CHANGE }],
  },
  {
    name: "SystemWorkloads",
    level: "RootEquivalent",
    scopes: ["ProtectedNamespace"],
    reason: "can run Pods with the ServiceAccounts of system components",
    rules: WORKLOADS,
  },
  {
    name: "Secrets",
    level: "Broad",
    scopes: OUTSIDE,
    reason: "can read or change Secrets of other owners",
    rules: [{ apiGroups: [""], resources: ["secrets"], verbs: [...READ, ...WRITE] }],
    exemptOwn: true,
  },
  {
    name: "Workloads",
    level: "Broad",
    scopes: ["Cluster"],
    reason: "can run Pods in every namespace, with any ServiceAccount there",
    rules: WORKLOADS,
  },
  {
    name: "Roles",
    level: "Broad",
    scopes: OUTSIDE,
    reason: "can grant its own permissions to others, and revoke the permissions of others",
    rules: [{ apiGroups: [RBAC], resources: ["clusterrolebindings", "clusterroles", "rolebindings", "roles"], verbs: WRITE }],
    exemptOwn: true,
  },
  {
    name: "Definitions",
    level: "Broad",
    scopes: ["Cluster"],
    reason: "can change or delete CustomResourceDefinitions of other owners, with all their custom resources",
    rules: [{ apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs: WRITE }],
    exemptOwn: true,
  },
  {
    name: "Namespaces",
    level: "Broad",
    scopes: ["Cluster"],
    reason: "can delete namespaces, and weaken their pod security with labels",
    rules: [{ apiGroups: [""], resources: ["namespaces"], verbs: ["update", "patch", "delete", "deletecollection"] }],
    exemptOwn: true,
  },
  {
    name: "Nodes",
    level: "Broad",
    scopes: ["Cluster"],
    reason: "can drain nodes, and move Pods by labels and taints",
    rules: [{ apiGroups: [""], resources: ["nodes", "nodes/status"], verbs: ["update", "patch", "delete", "deletecollection"] }],
  },
];

/** The class of permissions with wildcards, except on API groups of the bundle. Rules cannot describe it. */
export const WILDCARD_CLASS: RiskClass = {
  name: "Wildcards",
  level: "Broad",
  scopes: OUTSIDE,
  reason: "has all verbs, all resources or all API groups, including future ones",
  rules: [],
};

/** Returns a class by its name, for example of a status; undefined if it is unknown. */
export function findRiskClass(name: string | undefined): RiskClass | undefined {
  return [...RISK_CLASSES, WILDCARD_CLASS].find((risk) => risk.name === name);
}

/** Namespaces of Kubernetes and OpenShift components. */
const PROTECTED = /^(kube|openshift)-/;

/** Returns the scope of permissions in a namespace; "" is the cluster scope. */
function getRiskScope(namespace: string, { installNamespace, systemNamespace }: RiskSubject): RiskScope {
  if (namespace === "") return "Cluster";
  if (namespace === systemNamespace || namespace.startsWith("kube-")) return "ProtectedNamespace";
  return PROTECTED.test(namespace) && namespace !== installNamespace ? "ProtectedNamespace" : "Namespace";
}

/**
 * Returns the class of a permission; undefined if it is neither root-equivalent nor broad.
 * @param permission a rule with at most one group, resource, name and verb @param namespace "" for the cluster scope
 */
export function classifyPermission(permission: PolicyRule, namespace: string, subject: RiskSubject): RiskClass | undefined {
  const scope = getRiskScope(namespace, subject);
  return (
    RISK_CLASSES.find(
      (risk) =>
        risk.scopes.includes(scope) && risk.rules.some((rule) => intersects(rule, permission)) && !isExempt(risk, permission, subject),
    ) ?? (WILDCARD_CLASS.scopes.includes(scope) && hasWildcard(permission, subject) ? WILDCARD_CLASS : undefined)
  );
}

function isExempt(
  { exemptOwn, exemptNames, exemptVerbs }: RiskClass,
  { apiGroups: [group = ""] = [], resources: [resource = ""] = [], resourceNames = [], verbs }: PolicyRule,
  { ownNames }: RiskSubject,
): boolean {
  if (resourceNames.length === 0) return false;
  if (exemptVerbs && !verbs.every((verb) => exemptVerbs.includes(verb))) return false;
  const own = exemptOwn ? ownNames.get(formatOwnResource(group, resource)) : undefined;
  return resourceNames.every((name) => own?.has(name) || exemptNames?.has(name));
}

function hasWildcard({ apiGroups = [], resources = [], verbs, nonResourceURLs = [] }: PolicyRule, { ownGroups }: RiskSubject): boolean {
  if (nonResourceURLs.length > 0) return nonResourceURLs.includes("*") && verbs.some((verb) => verb !== "get" && verb !== "head");
  return apiGroups.some((group) => group === "*" || ((resources.includes("*") || verbs.includes("*")) && !ownGroups.has(group)));
}
