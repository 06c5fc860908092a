import type { GroupVersionKind, KubeObject } from "../../../pkg/api/k8s.ts";
import { isOfCsv, type MarkedBy } from "../../../pkg/migrate/ownershipMarks.ts";
import { CLASSIC_GROUP } from "../../../pkg/api/migration.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { objectKey } from "../../../pkg/release/identity.ts";
import { listOrNone } from "./classicCluster.ts";

const RBAC = "rbac.authorization.k8s.io/v1";
const ADMISSION = "admissionregistration.k8s.io/v1";

/** Kinds of what OLM classic makes in the namespace of a ClusterServiceVersion. */
export const NAMESPACED_KINDS: readonly GroupVersionKind[] = [
  { apiVersion: "apps/v1", kind: "Deployment" },
  { apiVersion: "v1", kind: "ServiceAccount" },
  { apiVersion: RBAC, kind: "Role" },
  { apiVersion: RBAC, kind: "RoleBinding" },
  { apiVersion: "v1", kind: "Service" },
  { apiVersion: "v1", kind: "ConfigMap" },
  { apiVersion: "v1", kind: "Secret" },
  { apiVersion: `${CLASSIC_GROUP}/v2`, kind: "OperatorCondition" },
];
/** Those of the cluster, or of other namespaces, which only labels tell. */
export const LABELLED_KINDS: readonly GroupVersionKind[] = [
  { apiVersion: RBAC, kind: "ClusterRole" },
  { apiVersion: RBAC, kind: "ClusterRoleBinding" },
  { apiVersion: RBAC, kind: "Role" },
  { apiVersion: RBAC, kind: "RoleBinding" },
  { apiVersion: ADMISSION, kind: "ValidatingWebhookConfiguration" },
  { apiVersion: ADMISSION, kind: "MutatingWebhookConfiguration" },
];
const LABEL_MAX = 63;

/**
 * What OLM classic made for a ClusterServiceVersion, metadata only, once each.
 * @param others kinds of the bundle's own manifests.
 */
export async function classicObjects(
  client: Client,
  csv: MarkedBy,
  others: readonly GroupVersionKind[],
  signal: AbortSignal,
): Promise<KubeObject[]> {
  const found = new Map<string, KubeObject>();
  const keep = (objects: readonly KubeObject[] | undefined): void => {
    for (const object of objects ?? []) if (isOfCsv(object, csv)) found.set(objectKey(object), object);
  };
  for (const gvk of distinctKinds([...NAMESPACED_KINDS, ...others]))
    keep(await listOrNone(client, gvk, { namespace: csv.namespace, metadataOnly: true, signal }));
  if (csv.name.length > LABEL_MAX) return [...found.values()];
  const labelSelector = `olm.owner=${csv.name},olm.owner.namespace=${csv.namespace}`;
  for (const gvk of LABELLED_KINDS) keep(await listOrNone(client, gvk, { labelSelector, metadataOnly: true, signal }));
  return [...found.values()];
}

/** Objects with a label, of all kinds that OLM classic makes and these. */
export async function labelledObjects(
  client: Client,
  labelSelector: string,
  others: readonly GroupVersionKind[],
  signal: AbortSignal,
): Promise<KubeObject[]> {
  const found = new Map<string, KubeObject>();
  for (const gvk of distinctKinds([...NAMESPACED_KINDS, ...LABELLED_KINDS, ...others]))
    for (const object of (await listOrNone(client, gvk, { labelSelector, metadataOnly: true, signal })) ?? [])
      found.set(objectKey(object), object);
  return [...found.values()];
}

function distinctKinds(kinds: readonly GroupVersionKind[]): GroupVersionKind[] {
  return [...new Map(kinds.map(({ apiVersion, kind }) => [`${apiVersion}/${kind}`, { apiVersion, kind }])).values()];
}
