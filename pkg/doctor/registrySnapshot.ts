import { REGISTRIES_CONFIG_MAP } from "../api/constants.ts";
import type { KubeObject, ObjectRef } from "../api/k8s.ts";
import type { Client } from "../kube/client.ts";
import {
  CLUSTER_CONFIG_NAMESPACE,
  CLUSTER_IMAGE,
  getAuthoritiesName,
  MIRROR_KINDS,
  type MirrorKind,
} from "../oci/registries/registryObjects.ts";
import { getPartValue, readAnswer, type SnapshotPart } from "./snapshotPart.ts";

/** The objects that configure registries; an object that does not exist is undefined. */
export interface RegistrySnapshot {
  /** undefined if the cluster does not serve the kind */
  readonly mirrors: readonly { readonly kind: MirrorKind; readonly objects: SnapshotPart<readonly KubeObject[] | undefined> }[];
  /** Image `cluster` */
  readonly image: SnapshotPart<KubeObject | undefined>;
  /** The ConfigMap that Image `cluster` names. */
  readonly authorities: SnapshotPart<KubeObject | undefined>;
  /** The ConfigMaps of --registries-configmap, one in the namespace of each server. */
  readonly configMaps: readonly SnapshotPart<KubeObject | undefined>[];
  /** The registries.conf of --registries-conf, if the Deployment mounts it from a ConfigMap. */
  readonly files: readonly { readonly origin: string; readonly text: SnapshotPart<string | undefined> }[];
  /** The ClusterRoleBinding of config/openshift that lets the servers read these objects. */
  readonly reader: SnapshotPart<KubeObject | undefined>;
}

const CONFIG_MAP_FLAG = "--registries-configmap";
const REGISTRIES_READER = "olmv1-registries-reader";

/** A server's Deployment, and its namespace. */
interface ServerDeployment {
  readonly namespace: string;
  readonly deployment: SnapshotPart<KubeObject | undefined>;
}

/** Reads the objects that configure registries, also those that the Deployments name or mount. */
export async function readRegistries(client: Client, servers: readonly ServerDeployment[], signal: AbortSignal): Promise<RegistrySnapshot> {
  const get = (ref: ObjectRef): Promise<SnapshotPart<KubeObject | undefined>> => readAnswer(() => client.get(ref, { signal }), undefined);
  const getConfigMap = (namespace: string, name: string): ReturnType<typeof get> =>
    get({ apiVersion: "v1", kind: "ConfigMap", namespace, name });
  const mirrors = MIRROR_KINDS.map(async (gvk) => {
    const objects = await readAnswer(async () => (await client.list(gvk, { signal })).items, undefined);
    return { kind: gvk.kind, objects };
  });
  const image = await get(CLUSTER_IMAGE);
  const authorities = "value" in image ? getAuthoritiesName(image.value) : undefined;
  const containers = servers.map(({ namespace, deployment }) => ({ namespace, ...readContainer(deployment) }));
  const named = containers.map(({ namespace, args }) => ({ namespace, name: findFlag(args, CONFIG_MAP_FLAG) ?? REGISTRIES_CONFIG_MAP }));
  const mounted = containers.flatMap((container) => findMountedFile(container) ?? []);
  const files = distinct(mounted).map(async ({ namespace, name, key }) => {
    const found = await getConfigMap(namespace, name);
    const data = "value" in found ? (found.value?.["data"] as Record<string, string> | undefined) : undefined;
    const text: SnapshotPart<string | undefined> = "value" in found ? { value: data?.[key] } : found;
    return { origin: `file of ConfigMap "${namespace}/${name}"`, text };
  });
  const configMaps = distinct(named.filter(({ name }) => name !== ""));
  return {
    mirrors: await Promise.all(mirrors),
    image,
    authorities: authorities === undefined ? { value: undefined } : await getConfigMap(CLUSTER_CONFIG_NAMESPACE, authorities),
    configMaps: await Promise.all(configMaps.map(({ namespace, name }) => getConfigMap(namespace, name))),
    files: await Promise.all(files),
    reader: await get({ apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding", name: REGISTRIES_READER }),
  };
}

function distinct<T extends { readonly namespace: string; readonly name: string }>(objects: readonly T[]): T[] {
  return [...new Map(objects.map((object) => [`${object.namespace}/${object.name}`, object])).values()];
}

/** The used parts of a server's container, with the volumes of its Pod. */
interface ServerContainer {
  readonly args?: readonly string[];
  readonly volumeMounts?: readonly { name: string; mountPath: string }[];
  readonly volumes?: readonly { name: string; configMap?: { name?: string } }[];
}

function readContainer(part: SnapshotPart<KubeObject | undefined>): ServerContainer {
  const { template } = (getPartValue(part)?.["spec"] ?? {}) as {
    template?: { spec?: ServerContainer & { containers?: ServerContainer[] } };
  };
  const { containers = [], volumes } = template?.spec ?? {};
  return { ...containers[0], ...(volumes ? { volumes } : {}) };
}

function findFlag(args: readonly string[] = [], flag: string): string | undefined {
  return args.findLast((arg) => arg.startsWith(`${flag}=`))?.slice(flag.length + 1);
}

/** A key of a ConfigMap. */
interface MountedFile {
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
}

/** Returns the source of the mounted registries.conf; undefined if it is not from a ConfigMap. */
function findMountedFile(container: ServerContainer & { readonly namespace: string }): MountedFile | undefined {
  const { namespace, args, volumeMounts = [], volumes = [] } = container;
  const path = findFlag(args, "--registries-conf");
  const mount = volumeMounts.find(({ mountPath }) => path?.startsWith(`${mountPath}/`));
  const name = volumes.find((volume) => volume.name === mount?.name)?.configMap?.name;
  return path === undefined || !mount || name === undefined ? undefined : { namespace, name, key: path.slice(mount.mountPath.length + 1) };
}
