import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION, SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import type { GroupVersionKind, KubeObject } from "../../pkg/api/k8s.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { KindNotServed } from "../../pkg/kube/errors.ts";
import type { PolicyRule } from "../../pkg/rbac/policyRule.ts";
import type { SoakPackage } from "./soakPackages.ts";

/** Name of the ConfigMap that users keep in the namespace of each extension. */
export const USER_DATA = "user-data";

/** A release of an extension, from the labels of its Secret. */
interface ReleaseState {
  readonly number: string;
  readonly status: string;
}

/** What a run reads of the cluster, each by the name of the extension, which is also the name of its namespace. */
export interface ClusterState {
  readonly extensions: ReadonlyMap<string, ClusterExtension>;
  readonly deployments: ReadonlyMap<string, KubeObject[]>;
  /** ConfigMaps of bundles. */
  readonly configMaps: ReadonlyMap<string, KubeObject[]>;
  readonly releases: ReadonlyMap<string, ReleaseState[]>;
  /** "Kind namespace/name" of the data of users, with its uid. */
  readonly userData: ReadonlyMap<string, string>;
  /** Roles of each ServiceAccount, as "namespace/account: Kind name in namespace", without parts of names that change with versions. */
  readonly bindings: readonly string[];
  /** Permissions of each ServiceAccount by these roles, as "namespace/account: verb resource.group name in namespace", each once. */
  readonly permissions: readonly string[];
}

interface Binding extends KubeObject {
  roleRef: { kind: string; name: string };
  subjects?: { kind: string; name: string; namespace?: string }[];
}

interface Role extends KubeObject {
  rules?: PolicyRule[] | null;
}

/** Kind and name of a role, in the places of an object. */
interface RoleRef {
  kind: string;
  metadata: { name: string; namespace?: string | undefined };
}

/** A role of a ServiceAccount. */
interface Grant {
  readonly account: string;
  readonly role: RoleRef;
  /** A namespace, or "the cluster". */
  readonly place: string;
}

const RBAC = "rbac.authorization.k8s.io/v1";

/** Reads the state of the cluster with eight lists, and one for each CRD. */
export async function readClusterState(client: Client, packages: readonly SoakPackage[]): Promise<ClusterState> {
  const names = new Set(packages.map(({ name }) => name));
  const list = async <T extends KubeObject>(apiVersion: string, kind: string, more: object = {}): Promise<T[]> =>
    (await client.list<T>({ apiVersion, kind }, more)).items;
  const inNamespaces = (objects: readonly KubeObject[]): KubeObject[] =>
    objects.filter(({ metadata }) => names.has(metadata.namespace ?? ""));
  const extensions = await list<ClusterExtension>(API_VERSION, CLUSTER_EXTENSION);
  const deployments = inNamespaces(await list("apps/v1", "Deployment"));
  const configMaps = inNamespaces(await list("v1", "ConfigMap"));
  const releases = await list("v1", "Secret", { namespace: SYSTEM_NAMESPACE, labelSelector: "owner=operator-controller,type=index" });
  const bindings = [...(await list<Binding>(RBAC, "ClusterRoleBinding")), ...(await list<Binding>(RBAC, "RoleBinding"))];
  const grants = bindings.flatMap((binding) => listGrants(binding, names));
  const roles = new Map(
    [...(await list<Role>(RBAC, "ClusterRole")), ...(await list<Role>(RBAC, "Role"))].map((role) => [getRoleKey(role), role]),
  );
  const custom = await Promise.all(
    packages.filter(({ tiny }) => tiny.hasCrd).map(({ tiny }) => listCustomResources(client, tiny.customKind)),
  );
  const userData = [...configMaps.filter(({ metadata }) => metadata.name === USER_DATA), ...custom.flat()];
  return {
    extensions: new Map(extensions.map((extension) => [extension.metadata.name, extension])),
    deployments: Map.groupBy(deployments, ({ metadata }) => metadata.namespace ?? ""),
    configMaps: Map.groupBy(
      configMaps.filter(({ metadata }) => metadata.name === metadata.namespace),
      ({ metadata }) => metadata.name,
    ),
    releases: groupReleases(releases),
    userData: new Map(userData.map(({ kind, metadata }) => [`${kind} ${metadata.namespace}/${metadata.name}`, metadata.uid ?? ""])),
    bindings: grants.map(describeRole).sort(),
    permissions: [...new Set(grants.flatMap((grant) => describePermissions(grant, roles)))].sort(),
  };
}

/** Returns none before the CRD is installed. */
async function listCustomResources(client: Client, kind: GroupVersionKind): Promise<KubeObject[]> {
  try {
    return (await client.list(kind)).items;
  } catch (err) {
    if (err instanceof KindNotServed) return [];
    throw err;
  }
}

function groupReleases(secrets: readonly KubeObject[]): Map<string, ReleaseState[]> {
  const releases = new Map<string, ReleaseState[]>();
  for (const { metadata } of secrets) {
    const { name = "", version: number = "", status = "" } = metadata.labels ?? {};
    releases.set(name, [...(releases.get(name) ?? []), { number, status }]);
  }
  return releases;
}

/** Returns the ServiceAccounts of extensions and of olmv1 that a binding gives permissions, each with its role and where that applies. */
function listGrants({ metadata, roleRef, subjects = [] }: Binding, namespaces: ReadonlySet<string>): Grant[] {
  const { namespace: place } = metadata;
  const role = { kind: roleRef.kind, metadata: { name: roleRef.name, namespace: roleRef.kind === "Role" ? place : undefined } };
  return subjects
    .filter(({ kind, namespace = "" }) => kind === "ServiceAccount" && (namespaces.has(namespace) || namespace === SYSTEM_NAMESPACE))
    .map(({ namespace, name }) => ({ account: `${namespace}/${name}`, role, place: place ?? "the cluster" }));
}

function describeRole({ account, role, place }: Grant): string {
  return `${account}: ${role.kind} ${withoutVersion(role.metadata.name)} in ${place}`;
}

function describePermissions({ account, role, place }: Grant, roles: ReadonlyMap<string, Role>): string[] {
  const permissions = (roles.get(getRoleKey(role))?.rules ?? []).flatMap(expandRule);
  return permissions.map((one) => `${account}: ${one} in ${place}`);
}

function getRoleKey({ kind, metadata }: RoleRef): string {
  return `${kind} ${metadata.namespace ?? ""}/${metadata.name}`;
}

/** Returns each permission of a rule as "verb resource.group name". */
function expandRule({ verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: PolicyRule): string[] {
  const names = resourceNames.length === 0 ? [""] : resourceNames.map(withoutVersion);
  const objects = apiGroups.flatMap((group) => resources.flatMap((resource) => names.map((name) => `${resource}.${group} ${name}`)));
  return verbs.flatMap((verb) => [...objects, ...nonResourceURLs].map((what) => `${verb} ${what}`.trim()));
}

/** Replaces the version and what follows it in the name of an object of a bundle, such as role tiny-0001.v1.0.2-tiny-0001-abc. */
function withoutVersion(name: string): string {
  return name.replace(/\.v\d+\.\d+\.\d+-.*$/, ".v*");
}
