import { LABEL_CREATED_FOR } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import type { PolicyRule } from "./policyRule.ts";
import type { RequiredRules } from "./requiredRules.ts";

/** The subject of a binding. */
export interface Subject {
  kind: "ServiceAccount" | "User" | "Group";
  name: string;
  /** Namespace of a ServiceAccount. */
  namespace?: string;
}

/** Returns the identity of operator-controller in config/rbac, which needs permission to request tokens of the installer. */
export function getControllerSubject(systemNamespace: string) {
  return { kind: "ServiceAccount", namespace: systemNamespace, name: "operator-controller-controller-manager" } as const;
}

/** The ServiceAccount that installs an extension. */
export interface Installer {
  /** The extension's namespace, `spec.namespace`. */
  namespace: string;
  /** `spec.serviceAccount.name`. */
  name: string;
}

const RBAC_GROUP = "rbac.authorization.k8s.io";
const RBAC_API = `${RBAC_GROUP}/v1`;

/**
 * Returns the objects that an installer needs, except Namespaces, in the order in which they are applied: the ServiceAccount, a ClusterRole, a Role
 * for each namespace, their bindings, and a Role and RoleBinding with which operator-controller requests tokens of the ServiceAccount.
 * @param controller identity of operator-controller
 */
export function buildInstallerManifests(installer: Installer, rules: RequiredRules, controller: Subject): KubeObject[] {
  const { namespace, name } = installer;
  const subject: Subject = { kind: "ServiceAccount", namespace, name };
  const account: KubeObject = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } };
  const clusterName = `${namespace}-${name}`;
  const roles = buildRoles((where) => (where === namespace ? name : clusterName), rules, subject);
  return [account, ...roles, ...buildTokenManifests(installer, controller)];
}

/**
 * Returns a ClusterRole, and a Role for each namespace, with `rules`, each followed by its binding to `subject`. Scopes without rules have none.
 * @param chooseName returns the name of the role in a namespace; "" is the cluster scope
 */
export function buildRoles(
  chooseName: (namespace: string) => string,
  { clusterRules, namespaceRules }: Pick<RequiredRules, "clusterRules" | "namespaceRules">,
  subject: Subject,
): KubeObject[] {
  const cluster = clusterRules.length > 0 ? roleAndBinding({ name: chooseName("") }, clusterRules, subject) : [];
  const namespaced = [...namespaceRules].flatMap(([namespace, own]) =>
    own.length > 0 ? roleAndBinding({ name: chooseName(namespace), namespace }, own, subject) : [],
  );
  return [...cluster, ...namespaced];
}

/** Returns the permission of `controller` to request tokens of this ServiceAccount, without which it cannot impersonate the installer. */
export function buildTokenManifests({ namespace, name }: Installer, controller: Subject): KubeObject[] {
  return roleAndBinding({ name: `${name}-token`, namespace }, [buildTokenRule(name)], controller);
}

/** Returns the permission to create tokens of a ServiceAccount. */
export function buildTokenRule(serviceAccount: string): PolicyRule {
  return { apiGroups: [""], resources: ["serviceaccounts/token"], resourceNames: [serviceAccount], verbs: ["create"] };
}

/** Returns a role with `rules` and a binding of the same name to `subject`, in the cluster scope or in a namespace. */
export function roleAndBinding(metadata: { name: string; namespace?: string }, rules: PolicyRule[], subject: Subject): KubeObject[] {
  const kind = metadata.namespace === undefined ? "ClusterRole" : "Role";
  const subjects = [subject.kind === "ServiceAccount" ? subject : { apiGroup: RBAC_GROUP, ...subject }];
  return [
    { apiVersion: RBAC_API, kind, metadata: { ...metadata }, rules },
    {
      apiVersion: RBAC_API,
      kind: `${kind}Binding`,
      metadata: { ...metadata },
      roleRef: { apiGroup: RBAC_GROUP, kind, name: metadata.name },
      subjects,
    },
  ];
}

/** Returns the object with a label by which `olmv1 uninstall` finds the objects that were created for an extension. */
export function labelCreatedFor(extension: string, object: KubeObject): KubeObject {
  const labels = { ...object.metadata.labels, [LABEL_CREATED_FOR]: extension };
  return { ...object, metadata: { ...object.metadata, labels } };
}
