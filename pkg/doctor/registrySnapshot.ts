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
import { readAnswer, type SnapshotPart } from "./snapshotPart.ts";

/** The objects that configure registries; an object that does not exist is undefined. */
export interface RegistrySnapshot {
  /** undefined if the cluster does not serve the kind */
  readonly mirrors: readonly { readonly kind: MirrorKind; readonly objects: SnapshotPart<readonly KubeObject[] | undefined> }[];
  /** Image `cluster` */
  readonly image: SnapshotPart<KubeObject | undefined>;
  /** The ConfigMap that Image `cluster` names. */
  readonly authorities: SnapshotPart<KubeObject | undefined>;
  /** The ConfigMap of --registries-configmap. */
  readonly configMap: SnapshotPart<KubeObject | undefined>;
  /** The registries.conf of --registries-conf, if the Deployment mounts it from a ConfigMap. */
  readonly files: readonly { readonly origin: string; readonly text: SnapshotPart<string | undefined> }[];
  /** The ClusterRoleBinding of config/openshift that lets the servers read these objects. */
  readonly reader: SnapshotPart<KubeObject | undefined>;
}

const CONFIG_MAP_FLAG = "--registries-configmap";
const REGISTRIES_READER = "olmv1-registries-reader";

/** Reads the objects that configure registries, also those that the Deployments name or mount. */
export async function readRegistries(
  client: Client,
  {
    namespace,
    deployments,
    signal,
  }: { namespace: string; deployments: readonly SnapshotPart<KubeObject | undefined>[]; signal: AbortSignal },
): Promise<RegistrySnapshot> {
  const get = (ref: ObjectRef): Promise<SnapshotPart<KubeObject | undefined>> => readAnswer(() => client.get(ref, { signal }), undefined);
  const configMap = (name: string, place = namespace): ReturnType<typeof get> =>
    get({ apiVersion: "v1", kind: "ConfigMap", namespace: place, name });
  const none = { value: undefined };
  const mirrors = MIRROR_KINDS.map(async (gvk) => {
    const objects = await readAnswer(async () => (await client.list(gvk, { signal })).items, undefined);
    return { kind: gvk.kind, objects };
  });
  const image = await get(CLUSTER_IMAGE);
  const authorities = "value" in image ? getAuthoritiesName(image.value) : undefined;
  const containers = deployments.map((deployment) => ("value" in deployment ? readContainer(deployment.value) : {}));
  const name = containers.flatMap(({ args }) => findFlag(args, CONFIG_MAP_FLAG) ?? [])[0] ?? REGISTRIES_CONFIG_MAP;
  const mounted = new Map(containers.flatMap((container) => findMountedFile(container) ?? []).map((file) => [file.name, file]));
  const files = [...mounted.values()].map(async ({ name: volume, key }) => {
    const found = await configMap(volume);
    const data = "value" in found ? (found.value?.["data"] as Record<string, string> | undefined) : undefined;
    const text: SnapshotPart<string | undefined> = "value" in found ? { value: data?.[key] } : found;
    return { origin: `file of ConfigMap "${namespace}/${volume}"`, text };
  });
  return {
    mirrors: await Promise.all(mirrors),
    image,
    authorities: authorities === undefined ? none : await configMap(authorities, CLUSTER_CONFIG_NAMESPACE),
    configMap: name === "" ? none : await configMap(name),
    files: await Promise.all(files),
    reader: await get({ apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding", name: REGISTRIES_READER }),
  };
}

/** The used parts of a server's container, with the volumes of its Pod. */
interface ServerContainer {
  readonly args?: readonly string[];
  readonly volumeMounts?: readonly { name: string; mountPath: string }[];
  readonly volumes?: readonly { name: string; configMap?: { name?: string } }[];
}

function readContainer(deployment: KubeObject | undefined): ServerContainer {
  const { template } = (deployment?.["spec"] ?? {}) as { template?: { spec?: ServerContainer & { containers?: ServerContainer[] } } };
  const { containers = [], volumes } = template?.spec ?? {};
  return { ...containers[0], ...(volumes ? { volumes } : {}) };
}

function findFlag(args: readonly string[] = [], flag: string): string | undefined {
  return args.findLast((arg) => arg.startsWith(`${flag}=`))?.slice(flag.length + 1);
}

/** Returns the ConfigMap and the key of the mounted registries.conf; undefined if the file is not from a ConfigMap. */
function findMountedFile({ args, volumeMounts = [], volumes = [] }: ServerContainer): { name: string; key: string } | undefined {
  const path = findFlag(args, "--registries-conf");
  const mount = volumeMounts.find(({ mountPath }) => path?.startsWith(`${mountPath}/`));
  const name = volumes.find((volume) => volume.name === mount?.name)?.configMap?.name;
  return path === undefined || !mount || name === undefined ? undefined : { name, key: path.slice(mount.mountPath.length + 1) };
}
