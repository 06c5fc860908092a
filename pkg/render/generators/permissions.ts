import type { KubeObject } from "../../api/k8s.ts";
import type { PolicyRule, RegistryV1Bundle, StrategyPermission } from "../../bundle/types.ts";
import { uniqueName } from "../names.ts";
import { type GeneratorOptions, watchesAll } from "./options.ts";

const GROUP = "rbac.authorization.k8s.io";
const API_VERSION = `${GROUP}/v1`;
const DEFAULT_ACCOUNT = "default";
const READ_NAMESPACES: PolicyRule = { verbs: ["get", "list", "watch"], apiGroups: [""], resources: ["namespaces"] };

/** A ServiceAccount for each name that permissions are given to, except the namespace's own default one. */
export function serviceAccounts({ csv }: RegistryV1Bundle, { installNamespace }: GeneratorOptions): KubeObject[] {
  const { permissions = [], clusterPermissions = [] } = csv.spec.install.spec;
  const names = new Set([...permissions, ...clusterPermissions].map(accountOf));
  names.delete(DEFAULT_ACCOUNT);
  return [...names].sort().map((name) => ({ kind: "ServiceAccount", apiVersion: "v1", metadata: { name, namespace: installNamespace } }));
}

/** A Role and RoleBinding for each permission in each watched namespace; none when all are watched. */
export function roles({ csv }: RegistryV1Bundle, options: GeneratorOptions): KubeObject[] {
  if (watchesAll(options)) return [];
  const { permissions = [] } = csv.spec.install.spec;
  return options.targetNamespaces.flatMap((namespace) =>
    permissions.flatMap((permission) => granted("Role", csv.metadata.name ?? "", permission, options.installNamespace, namespace)),
  );
}

/** A ClusterRole and ClusterRoleBinding for each cluster permission and, when all namespaces are watched, for each permission as well. */
export function clusterRoles({ csv }: RegistryV1Bundle, options: GeneratorOptions): KubeObject[] {
  const { permissions = [], clusterPermissions = [] } = csv.spec.install.spec;
  const promoted = watchesAll(options)
    ? permissions.map((permission) => ({ ...permission, rules: [...(permission.rules ?? []), READ_NAMESPACES] }))
    : [];
  return [...clusterPermissions, ...promoted].flatMap((permission) =>
    granted("ClusterRole", csv.metadata.name ?? "", permission, options.installNamespace),
  );
}

function accountOf({ serviceAccountName }: StrategyPermission): string {
  return serviceAccountName || DEFAULT_ACCOUNT;
}

/** The role and its binding; the name changes with the permission. */
function granted(
  kind: "Role" | "ClusterRole",
  csvName: string,
  permission: StrategyPermission,
  installNamespace: string,
  namespace?: string,
): [role: KubeObject, binding: KubeObject] {
  const account = accountOf(permission);
  const name = uniqueName(`${csvName}-${account}`, permission);
  const metadata = namespace === undefined ? { name } : { name, namespace };
  return [
    { kind, apiVersion: API_VERSION, metadata, rules: permission.rules },
    {
      kind: `${kind}Binding`,
      apiVersion: API_VERSION,
      metadata,
      subjects: [{ kind: "ServiceAccount", name: account, namespace: installNamespace }],
      roleRef: { apiGroup: GROUP, kind, name },
    },
  ];
}
