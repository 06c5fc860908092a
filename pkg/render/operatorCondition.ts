import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { isSubdomain } from "../api/names.ts";
import { OPERATOR_CONDITION, OPERATOR_CONDITION_VARIABLE, OPERATOR_CONDITIONS } from "../api/operatorCondition.ts";
import type { Csv, RegistryV1Bundle } from "../bundle/types.ts";
import { type DeploymentContent, withDeploymentConfig } from "./deploymentConfig.ts";

/**
 * What a bundle gets for its OperatorCondition: all objects and the variable with its name; only the variable, because the cluster no longer serves the
 * kind but running Pods have the variable; or nothing.
 */
export type OperatorConditionUse = "All" | "Variable" | "None";

const RBAC = "rbac.authorization.k8s.io";
const DEFAULT_ACCOUNT = "default";

/** Where and whether the objects of the OperatorCondition are generated. */
interface OperatorConditionOptions {
  readonly installNamespace: string;
  readonly operatorCondition?: OperatorConditionUse | undefined;
}

/** Returns the name of the OperatorCondition of a bundle; undefined if the name of the ClusterServiceVersion is not a valid object name. */
function getConditionName({ metadata: { name = "" } }: Csv): string | undefined {
  return isSubdomain(name) ? name : undefined;
}

/**
 * Returns the OperatorCondition of a bundle, and the Role and RoleBinding that let the ServiceAccounts of the operator read and write it. As in OLM
 * v0, all have the name of the ClusterServiceVersion. In addition to OLM v0, binds the ServiceAccounts of the Deployments, which can be manifests.
 * @see operator-lifecycle-manager 992bb0977 pkg/controller/operators/operatorcondition_controller.go, operatorconditiongenerator_controller.go
 */
export function generateOperatorCondition({ csv }: Pick<RegistryV1Bundle, "csv">, options: OperatorConditionOptions): KubeObject[] {
  const { installNamespace, operatorCondition } = options;
  const name = getConditionName(csv);
  if (operatorCondition !== "All" || name === undefined) return [];
  const metadata = { name, namespace: installNamespace };
  const accounts = listAccounts(csv);
  const deployments = (csv.spec.install.spec.deployments ?? []).map((deployment) => deployment.name);
  const { group, resource } = OPERATOR_CONDITIONS;
  const rules = [{ verbs: ["get", "update", "patch"], apiGroups: [group], resources: [resource], resourceNames: [name] }];
  return [
    { ...OPERATOR_CONDITION, metadata, spec: { serviceAccounts: accounts, deployments } },
    { apiVersion: `${RBAC}/v1`, kind: "Role", metadata, rules },
    {
      apiVersion: `${RBAC}/v1`,
      kind: "RoleBinding",
      metadata,
      subjects: accounts.map((account) => ({ kind: "ServiceAccount", name: account, namespace: installNamespace })),
      roleRef: { apiGroup: RBAC, kind: "Role", name },
    },
  ];
}

/** Returns the ServiceAccounts of the operator without duplicates; that of the namespace if the bundle has no other. */
function listAccounts({ spec }: Csv): string[] {
  const { permissions, clusterPermissions, deployments } = spec.install.spec;
  const names = [
    ...[...(clusterPermissions ?? []), ...(permissions ?? [])].map(({ serviceAccountName }) => serviceAccountName),
    ...(deployments ?? []).map((deployment) => (deployment.spec.template.spec as JsonObject)["serviceAccountName"]),
  ];
  const accounts = [...new Set(names.filter((name): name is string => typeof name === "string" && name !== ""))];
  return accounts.length > 0 ? accounts : [DEFAULT_ACCOUNT];
}

/**
 * Sets the variable with the name of the OperatorCondition in all containers except init containers. As in OLM v0, overrides the variable in the
 * bundle and the configuration.
 */
export function withConditionName(content: DeploymentContent, csv: Csv, use: OperatorConditionUse | undefined): DeploymentContent {
  const value = getConditionName(csv);
  if (use === undefined || use === "None" || value === undefined) return content;
  return withDeploymentConfig(content, { env: [{ name: OPERATOR_CONDITION_VARIABLE, value }] });
}
