import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import {
  API_VERSION,
  CLUSTER_CATALOG,
  CLUSTER_EXTENSION,
  EXTENSION_PERMISSIONS,
  getCatalogdNamespace,
  LABEL_PERMISSIONS_FOR,
  PERMISSION_ADMISSION_POLICIES,
  PERMISSION_POLICY,
  SERVER_LEASES,
} from "../api/constants.ts";
import type { ExtensionPermissions } from "../api/extensionPermissions.ts";
import type { GroupVersionKind, KubeObject, ObjectRef } from "../api/k8s.ts";
import type { PermissionPolicy } from "../api/permissionPolicy.ts";
import { LEASE, type Lease } from "../controller/lease.ts";
import type { Client } from "../kube/client.ts";
import { readServerInfo } from "../kube/servedResources.ts";
import { OBJECT_SET_KINDS } from "../release/objectSet.ts";
import { type ImagePolicySnapshot, readImagePolicies } from "./imagePolicySnapshot.ts";
import { type RegistrySnapshot, readRegistries } from "./registrySnapshot.ts";
import { readAnswer, type SnapshotPart } from "./snapshotPart.ts";

/** The servers and the names of their objects on the cluster. */
export const PROGRAMS = [
  { program: "catalogd", lease: SERVER_LEASES.catalogd },
  { program: "operator-controller", lease: SERVER_LEASES["operator-controller"] },
  { program: "permission-manager", lease: SERVER_LEASES["permission-manager"] },
] as const;
export type ProgramName = (typeof PROGRAMS)[number]["program"];

/** The state of one server; missing objects are undefined. */
export interface ProgramSnapshot {
  readonly program: ProgramName;
  readonly namespace: string;
  readonly deployment: SnapshotPart<KubeObject | undefined>;
  readonly lease: SnapshotPart<Lease | undefined>;
  /** Secrets that may contain the certificate of the server, by name. */
  readonly secrets: ReadonlyMap<string, SnapshotPart<KubeObject | undefined>>;
}

/** The state of the cluster that the checks use. */
export interface ClusterSnapshot {
  /** Namespace of operator-controller. */
  readonly namespace: string;
  /** The time of the API server, in milliseconds since the epoch. */
  readonly now: number;
  /** Such as "v1.36.3". */
  readonly serverVersion: string;
  /** By name. */
  readonly definitions: ReadonlyMap<string, SnapshotPart<KubeObject | undefined>>;
  readonly programs: readonly ProgramSnapshot[];
  readonly catalogs: SnapshotPart<readonly ClusterCatalog[]>;
  readonly registries: RegistrySnapshot;
  readonly imagePolicies: ImagePolicySnapshot;
  /** Admission policies by kind and name. */
  readonly policies: ReadonlyMap<string, SnapshotPart<KubeObject | undefined>>;
  readonly monitors: SnapshotPart<readonly KubeObject[] | undefined>;
  readonly extensions: SnapshotPart<readonly ClusterExtension[]>;
  readonly permissions: SnapshotPart<readonly ExtensionPermissions[]>;
  readonly permissionPolicies: SnapshotPart<readonly PermissionPolicy[]>;
  /** ServiceAccounts, roles and bindings with the label of permission-manager, without their content. */
  readonly grants: SnapshotPart<readonly KubeObject[]>;
  /** Releases of the Go operator-controller in object sets, without their content. */
  readonly objectSets: SnapshotPart<readonly KubeObject[]>;
}

const DEFINITIONS = ["clustercatalogs", "clusterextensions", "extensionpermissions", "permissionpolicies"].map(
  (plural) => `${plural}.olm.operatorframework.io`,
);
const ADMISSION = "admissionregistration.k8s.io/v1";
/** Policies of config/rbac, config/samples, config/admission and config/permissions. */
export const POLICIES = [
  { apiVersion: ADMISSION, kind: "ValidatingAdmissionPolicyBinding", name: "operator-controller-dependencies" },
  { apiVersion: ADMISSION, kind: "ValidatingAdmissionPolicyBinding", name: "clusterextension-service-accounts" },
  { apiVersion: ADMISSION, kind: "MutatingAdmissionPolicyBinding", name: "clustercatalog-name-label" },
  ...PERMISSION_ADMISSION_POLICIES.map((name) => ({ apiVersion: ADMISSION, kind: "ValidatingAdmissionPolicyBinding", name }) as const),
] as const;
const CATALOG = { apiVersion: API_VERSION, kind: CLUSTER_CATALOG };
const EXTENSION = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION };
const RBAC = "rbac.authorization.k8s.io/v1";
/** The kinds that permission-manager creates for extensions. */
const GRANTED_KINDS: readonly GroupVersionKind[] = [
  { apiVersion: "v1", kind: "ServiceAccount" },
  ...["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"].map((kind) => ({ apiVersion: RBAC, kind })),
];
const SERVICE_MONITOR = { apiVersion: "monitoring.coreos.com/v1", kind: "ServiceMonitor" };

/** Reads the state of the cluster. @throws Error if the API server is unreachable or rejects the credentials */
export async function readSnapshot(client: Client, systemNamespace: string, signal: AbortSignal): Promise<ClusterSnapshot> {
  const server = await readServerInfo(client, signal);
  const get = (ref: ObjectRef): Promise<SnapshotPart<KubeObject | undefined>> => readAnswer(() => client.get(ref, { signal }), undefined);
  const listAll = <T extends KubeObject>(kind: GroupVersionKind): Promise<SnapshotPart<readonly T[]>> =>
    readAnswer(async () => (await client.list<T>(kind, { signal })).items, []);
  const reading = PROGRAMS.map(async ({ program, lease }): Promise<ProgramSnapshot> => {
    // permission-manager has no certificate.
    const names = program === "permission-manager" ? [] : [`${program}-serving-cert`, `${program}-cert`];
    const namespace = getProgramNamespace(program, systemNamespace);
    return {
      program,
      namespace,
      deployment: await get({ apiVersion: "apps/v1", kind: "Deployment", namespace, name: `${program}-controller-manager` }),
      lease: await get({ ...LEASE, namespace, name: lease }),
      secrets: await byName(names, (name) => get({ apiVersion: "v1", kind: "Secret", namespace, name })),
    };
  });
  const programs = await Promise.all(reading);
  return {
    namespace: systemNamespace,
    now: server.now,
    serverVersion: server.version,
    definitions: await byName(DEFINITIONS, (name) =>
      get({ apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", name }),
    ),
    programs,
    catalogs: await listAll<ClusterCatalog>(CATALOG),
    registries: await readRegistries(client, programs, signal),
    imagePolicies: await readImagePolicies(client, signal),
    policies: new Map(await Promise.all(POLICIES.map(async (ref) => [formatPolicyKey(ref), await get(ref)] as const))),
    monitors: await readAnswer(() => listMonitors(client, systemNamespace, signal), undefined),
    extensions: await listAll<ClusterExtension>(EXTENSION),
    permissions: await listAll<ExtensionPermissions>(EXTENSION_PERMISSIONS),
    permissionPolicies: await listAll<PermissionPolicy>(PERMISSION_POLICY),
    grants: await readAnswer(() => listGrants(client, signal), []),
    objectSets: await readObjectSets(client, signal),
  };
}

/** Returns the namespace of a server. */
export function getProgramNamespace(program: ProgramName, systemNamespace: string): string {
  return program === "catalogd" ? getCatalogdNamespace(systemNamespace) : systemNamespace;
}

async function listMonitors(client: Client, systemNamespace: string, signal: AbortSignal): Promise<KubeObject[]> {
  const namespaces = new Set([systemNamespace, getCatalogdNamespace(systemNamespace)]);
  const lists = [...namespaces].map(async (namespace) => (await client.list(SERVICE_MONITOR, { namespace, signal })).items);
  return (await Promise.all(lists)).flat();
}

async function listGrants(client: Client, signal: AbortSignal): Promise<KubeObject[]> {
  const options = { labelSelector: LABEL_PERMISSIONS_FOR, metadataOnly: true, signal };
  const lists = GRANTED_KINDS.map(async (kind) => (await client.list(kind, options)).items.map((item) => ({ ...item, ...kind })));
  return (await Promise.all(lists)).flat();
}

async function readObjectSets(client: Client, signal: AbortSignal): Promise<SnapshotPart<readonly KubeObject[]>> {
  const found: KubeObject[] = [];
  for (const kind of OBJECT_SET_KINDS) {
    const part = await readAnswer(async () => (await client.list(kind, { metadataOnly: true, signal })).items, []);
    if ("refused" in part) return part;
    found.push(...part.value);
  }
  return { value: found };
}

/** "Kind name". */
export function formatPolicyKey({ kind, name }: { kind: string; name: string }): string {
  return `${kind} ${name}`;
}

async function byName<T>(names: readonly string[], read: (name: string) => Promise<T>): Promise<Map<string, T>> {
  return new Map(await Promise.all(names.map(async (name) => [name, await read(name)] as const)));
}

/** The result of a check; `unknown`: the user may not read an object that the check needs. */
export type FindingStatus = "ok" | "warning" | "problem" | "unknown";

/** The result of one check. */
export interface DoctorFinding {
  /** The checked object or aspect, such as `Deployment catalogd-controller-manager` or `versions`. */
  readonly check: string;
  readonly status: FindingStatus;
  readonly message: string;
  /** The suggested fix. Commands can be copied unchanged. */
  readonly next?: string;
  /** When the checked certificate expires, in RFC 3339. */
  readonly expires?: string;
}

/** Returns the findings about an object, or a single finding with status unknown if reading the object is forbidden. */
export function reportOn<T>(check: string, answer: SnapshotPart<T>, judge: (value: T) => DoctorFinding[]): DoctorFinding[] {
  if ("value" in answer) return judge(answer.value);
  return [{ check, status: "unknown", message: `cannot check: ${answer.refused}`, next: "ask a cluster administrator" }];
}
