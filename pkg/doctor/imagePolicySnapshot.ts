import type { KubeObject, ObjectRef } from "../api/k8s.ts";
import type { Client } from "../kube/client.ts";
import { CLUSTER_IMAGE_POLICY, IMAGE_POLICY } from "../oci/policy/imagePolicies.ts";
import { readAnswer, type SnapshotPart } from "./snapshotPart.ts";

/** The image policies of OpenShift; undefined if the cluster does not serve a kind. */
export interface ImagePolicySnapshot {
  readonly cluster: SnapshotPart<readonly KubeObject[] | undefined>;
  readonly namespaced: SnapshotPart<readonly KubeObject[] | undefined>;
  /** The ClusterRoleBindings of config/openshift that let the servers read these objects, by name. */
  readonly readers: ReadonlyMap<string, SnapshotPart<KubeObject | undefined>>;
}

/** ClusterRoleBinding for ClusterImagePolicies. */
export const CLUSTER_POLICIES_READER = "olmv1-cluster-image-policies-reader";
/** ClusterRoleBinding for ImagePolicies. */
export const IMAGE_POLICIES_READER = "olmv1-image-policies-reader";

/** Reads the image policies of OpenShift. */
export async function readImagePolicies(client: Client, signal: AbortSignal): Promise<ImagePolicySnapshot> {
  const list = (gvk: typeof CLUSTER_IMAGE_POLICY | typeof IMAGE_POLICY): Promise<SnapshotPart<readonly KubeObject[] | undefined>> =>
    readAnswer(async () => (await client.list(gvk, { signal })).items, undefined);
  const readers = [CLUSTER_POLICIES_READER, IMAGE_POLICIES_READER].map(async (name) => {
    const ref: ObjectRef = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding", name };
    return [name, await readAnswer(() => client.get(ref, { signal }), undefined)] as const;
  });
  const [cluster, namespaced] = await Promise.all([list(CLUSTER_IMAGE_POLICY), list(IMAGE_POLICY)]);
  return { cluster, namespaced, readers: new Map(await Promise.all(readers)) };
}
