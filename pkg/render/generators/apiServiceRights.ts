import type { KubeObject } from "../../api/k8s.ts";
import { ownedApiServices } from "../../bundle/apiServices.ts";
import type { RegistryV1Bundle } from "../../bundle/types.ts";
import { certificateNames } from "../certificateProvider.ts";
import type { GeneratorOptions } from "./options.ts";

const GROUP = "rbac.authorization.k8s.io";
const API_VERSION = `${GROUP}/v1`;
/** Holds the ConfigMap from which an API server learns how the aggregation layer authenticates itself. */
const SYSTEM_NAMESPACE = "kube-system";

/**
 * What the ServiceAccount of each deployment that serves APIs needs to do so, in the order of the deployments: to have requests
 * authenticated and authorised by the API server, to learn who may forward them, and to read its own certificate.
 * Names hold the install namespace where objects of several installations meet.
 * @see https://kubernetes.io/docs/tasks/extend-kubernetes/setup-extension-api-server/
 * @see operator-lifecycle-manager pkg/controller/install/certresources.go
 */
export function apiServiceRights({ csv }: RegistryV1Bundle, { installNamespace: namespace, certProvider }: GeneratorOptions): KubeObject[] {
  const serving = new Set(ownedApiServices(csv).map(({ deploymentName }) => deploymentName));
  const deployments = (csv.spec.install.spec.deployments ?? []).filter(({ name }) => serving.has(name));
  return deployments.flatMap(({ name, spec }) => {
    const names = certificateNames(name, namespace);
    const { secretName = names.certificateName } = certProvider?.secret(names) ?? {};
    const account = spec.template.spec["serviceAccountName"];
    const subjects = [{ kind: "ServiceAccount", name: typeof account === "string" && account !== "" ? account : "default", namespace }];
    const prefix = `${namespace}:${names.serviceName}`;
    const rule = { verbs: ["get"], apiGroups: [""], resources: ["secrets"], resourceNames: [secretName] };
    return [
      { kind: "Role", apiVersion: API_VERSION, metadata: { name: secretName, namespace }, rules: [rule] },
      binding("RoleBinding", { name: secretName, namespace }, subjects, { kind: "Role", name: secretName }),
      binding("ClusterRoleBinding", { name: `${prefix}:auth-delegator` }, subjects, { kind: "ClusterRole", name: "system:auth-delegator" }),
      binding("RoleBinding", { name: `${prefix}:auth-reader`, namespace: SYSTEM_NAMESPACE }, subjects, {
        kind: "Role",
        name: "extension-apiserver-authentication-reader",
      }),
    ];
  });
}

function binding(
  kind: string,
  metadata: KubeObject["metadata"],
  subjects: readonly object[],
  role: { kind: string; name: string },
): KubeObject {
  return { kind, apiVersion: API_VERSION, metadata, subjects, roleRef: { apiGroup: GROUP, ...role } };
}
