import { LABEL_CREATED_FOR } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import type { PolicyRule } from "./policyRule.ts";
import type { RequiredRules } from "./requiredRules.ts";

/** Who gets rights, as a binding names it. */
export interface Subject {
  kind: "ServiceAccount" | "User" | "Group";
  name: string;
  /** Of a ServiceAccount. */
  namespace?: string;
}

/** Who operator-controller is, as config/rbac has it: whoever installs lets it act as the installer. */
export function controllerSubject(systemNamespace: string) {
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
 * Ready objects for an installer: the ServiceAccount, a ClusterRole and a Role for each namespace with their bindings, and the right
 * of the operator-controller to act as it. Namespaces are not among them. In an order in which they can be applied.
 * @param controller the identity of the operator-controller.
 */
export function installerManifests(installer: Installer, rules: RequiredRules, controller: Subject): KubeObject[] {
  const { namespace, name } = installer;
  const subject: Subject = { kind: "ServiceAccount", namespace, name };
  const account: KubeObject = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } };
  const clusterName = `${namespace}-${name}`;
  const cluster = rules.clusterRules.length > 0 ? roleAndBinding({ name: clusterName }, rules.clusterRules, subject) : [];
  const namespaced = [...rules.namespaceRules].flatMap(([where, own]) =>
    own.length > 0 ? roleAndBinding({ name: where === namespace ? name : clusterName, namespace: where }, own, subject) : [],
  );
  return [account, ...cluster, ...namespaced, ...tokenManifests(installer, controller)];
}

/** Lets `controller` mint tokens of this one ServiceAccount: without it the operator-controller cannot act as the installer. */
export function tokenManifests({ namespace, name }: Installer, controller: Subject): KubeObject[] {
  const rule: PolicyRule = { apiGroups: [""], resources: ["serviceaccounts/token"], resourceNames: [name], verbs: ["create"] };
  return roleAndBinding({ name: `${name}-token`, namespace }, [rule], controller);
}

function roleAndBinding(metadata: { name: string; namespace?: string }, rules: PolicyRule[], subject: Subject): KubeObject[] {
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

/** Returns an object with the label by which `olmv1 uninstall` finds the objects that were created for an extension. */
export function labelCreatedFor(extension: string, object: KubeObject): KubeObject {
  const labels = { ...object.metadata.labels, [LABEL_CREATED_FOR]: extension };
  return { ...object, metadata: { ...object.metadata, labels } };
}
