import { LABEL_CREATED_FOR } from "../../../pkg/api/constants.ts";
import type { KubeObject } from "../../../pkg/api/k8s.ts";
import type { Installer } from "../../../pkg/rbac/installerManifests.ts";
import type { CustomResources } from "./customResources.ts";

const RBAC_GROUP = "rbac.authorization.k8s.io";

/**
 * The permissions of an installer to delete definitions with their custom resources, which crdPolicy Delete takes; marked as made for the extension.
 * The definitions are named too, because the roles of the installed bundle do not cover those that an upgrade has kept.
 */
export function deletingRights(
  extension: string,
  { namespace, name }: Installer,
  customResources: readonly CustomResources[],
): KubeObject[] {
  const metadata = { name: `${namespace}-${name}-delete`, labels: { [LABEL_CREATED_FOR]: extension } };
  const rules = customResources.map(({ crd }) => {
    const { group = "", names } = (crd["spec"] ?? {}) as { group?: string; names?: { plural?: string } };
    return { apiGroups: [group], resources: [names?.plural ?? ""], verbs: ["get", "list", "delete"] };
  });
  const definitions = {
    apiGroups: ["apiextensions.k8s.io"],
    resources: ["customresourcedefinitions"],
    resourceNames: customResources.map(({ crd }) => crd.metadata.name),
    verbs: ["get", "delete"],
  };
  const apiVersion = `${RBAC_GROUP}/v1`;
  return [
    { apiVersion, kind: "ClusterRole", metadata, rules: [definitions, ...rules] },
    {
      apiVersion,
      kind: "ClusterRoleBinding",
      metadata,
      roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: metadata.name },
      subjects: [{ kind: "ServiceAccount", namespace, name }],
    },
  ];
}
