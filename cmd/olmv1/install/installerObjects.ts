import { LABEL_CREATED_FOR } from "../../../pkg/api/constants.ts";
import type { KubeObject } from "../../../pkg/api/k8s.ts";
import { controllerSubject, type Installer, installerManifests, tokenManifests } from "../../../pkg/rbac/installerManifests.ts";
import type { RequiredRules } from "../../../pkg/rbac/requiredRules.ts";

/** Kinds that `olmv1 install` makes for an extension, in the order in which they may go. */
export const MADE_KINDS = [
  { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding" },
  { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" },
  { apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding" },
  { apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role" },
  { apiVersion: "v1", kind: "ServiceAccount" },
  { apiVersion: "v1", kind: "Namespace" },
] as const;

/** A namespace that is made for an extension. */
export function namespaceFor(extension: string, name: string): KubeObject {
  return marked(extension, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
}

/** The ServiceAccount of an extension and its rights, with the mark by which `olmv1 uninstall` finds them. */
export function installerObjects(extension: string, installer: Installer, rules: RequiredRules, systemNamespace: string): KubeObject[] {
  return installerManifests(installer, rules, controllerSubject(systemNamespace)).map((object) => marked(extension, object));
}

/** What lets operator-controller act as a ServiceAccount that somebody else made. */
export function tokenObjects(extension: string, installer: Installer, systemNamespace: string): KubeObject[] {
  return tokenManifests(installer, controllerSubject(systemNamespace)).map((object) => marked(extension, object));
}

function marked(extension: string, object: KubeObject): KubeObject {
  const labels = { ...object.metadata.labels, [LABEL_CREATED_FOR]: extension };
  return { ...object, metadata: { ...object.metadata, labels } };
}
