import type { ClusterExtension } from "../api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../api/constants.ts";
import type { GroupVersionKind, KubeObject, ObjectRef } from "../api/k8s.ts";
import {
  ANNOTATION_FOREIGN_BACKUP,
  ANNOTATION_MIGRATED_FROM,
  ANNOTATION_STEP,
  CLASSIC_GROUP,
  MIGRATION_FIELD_MANAGER,
} from "../api/migration.ts";
import { getNonEmptyText, getObjectAt, getObjectsAt } from "../golang/members.ts";
import type { Client } from "../kube/client.ts";
import { isConflict, isNotFound, KindNotServed } from "../kube/errors.ts";
import { getObjectKey } from "../release/identity.ts";
import { OBJECT_SET_KINDS } from "../release/objectSet.ts";
import { isCopiedCsv } from "./clusterServiceVersion.ts";
import type { KnownExtension } from "./eligibilityInput.ts";
import { belongsToCsv, type MarkedBy } from "./ownershipMarks.ts";
import { SUBSCRIPTION_VERSIONS, type Subscription } from "./subscription.ts";

/** OLM v0 and v1 objects on a cluster. */
export interface OlmV0Cluster {
  readonly subscriptions: readonly KubeObject[];
  /** Without copies in other namespaces. */
  readonly csvs: readonly KubeObject[];
  readonly groups: readonly KubeObject[];
  readonly sources: readonly KubeObject[];
  readonly extensions: readonly ClusterExtension[];
  /** "namespace/name" of the Subscriptions that another tool has begun to convert: it has created ClusterObjectSets. */
  readonly begunElsewhere: ReadonlySet<string>;
}

export const CSV = { apiVersion: `${CLASSIC_GROUP}/v1alpha1`, kind: "ClusterServiceVersion" } as const;
const EXTENSION = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION } as const;
const GROUPS = ["v1", "v1alpha2"];
const CONDITIONS = ["v2", "v1"];

/** Reads the objects that determine what can be migrated. @throws Error if the cluster does not have OLM v0, or if listing a kind is forbidden */
export async function readOlmV0Cluster(client: Client, signal: AbortSignal): Promise<OlmV0Cluster> {
  const subscriptions = await listAny(client, "Subscription", SUBSCRIPTION_VERSIONS, signal);
  const csvs = await listOrNone(client, { ...CSV }, { labelSelector: "!olm.copiedFrom", signal });
  const groups = (await listAny(client, "OperatorGroup", GROUPS, signal)) ?? [];
  const sources = (await listAny(client, "CatalogSource", SUBSCRIPTION_VERSIONS, signal)) ?? [];
  const { items: extensions } = await client.list<ClusterExtension>(EXTENSION, { signal });
  const begunElsewhere = await listBegunElsewhere(client, signal);
  if (subscriptions === undefined && extensions.every((one) => one.metadata.annotations?.[ANNOTATION_MIGRATED_FROM] === undefined))
    throw new Error(`this cluster does not have OLM v0: it does not serve Subscriptions of ${CLASSIC_GROUP}`);
  return {
    subscriptions: subscriptions ?? [],
    csvs: (csvs ?? []).filter((csv) => !isCopiedCsv(csv)),
    groups,
    sources,
    extensions,
    begunElsewhere,
  };
}

/** Lists the Subscriptions in the annotations of ClusterObjectSets. Other tools create these before the ClusterExtension. */
async function listBegunElsewhere(client: Client, signal: AbortSignal): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for (const gvk of OBJECT_SET_KINDS)
    for (const { metadata } of (await listOrNone(client, gvk, { metadataOnly: true, signal })) ?? []) {
      const from = metadata.annotations?.[ANNOTATION_MIGRATED_FROM];
      if (from !== undefined) found.add(from);
    }
  return found;
}

/** Returns the parts of a ClusterExtension that the checks use. */
export function toKnownExtension({ metadata, spec }: ClusterExtension): KnownExtension {
  return {
    name: metadata.name,
    packageName: spec.source.catalog?.packageName ?? "",
    migratedFrom: metadata.annotations?.[ANNOTATION_MIGRATED_FROM],
    step: metadata.annotations?.[ANNOTATION_STEP],
    isForeign: metadata.annotations?.[ANNOTATION_FOREIGN_BACKUP] !== undefined,
  };
}

/** Reports whether an operator reports conditions to OLM v0. */
export async function hasConditions(client: Client, { name, namespace }: { name: string; namespace: string }): Promise<boolean> {
  for (const version of CONDITIONS) {
    const ref: ObjectRef = { apiVersion: `${CLASSIC_GROUP}/${version}`, kind: "OperatorCondition", namespace, name };
    const found = await readOrNone(client, ref);
    if (!found) continue;
    return (
      getObjectsAt(getObjectAt(found, "spec"), "conditions").length + getObjectsAt(getObjectAt(found, "status"), "conditions").length > 0
    );
  }
  return false;
}

/** Returns the phase of a Subscription's InstallPlan; undefined if there is no InstallPlan. */
export async function readPlanPhase(client: Client, { namespace, plan }: Subscription): Promise<string | undefined> {
  if (plan === undefined) return undefined;
  const ref: ObjectRef = { apiVersion: `${CLASSIC_GROUP}/v1alpha1`, kind: "InstallPlan", namespace, name: plan };
  const found = await readOrNone(client, ref);
  return found && getNonEmptyText(getObjectAt(found, "status"), "phase");
}

/** Reads an object; undefined if the object or its kind does not exist. */
export async function readOrNone<T extends KubeObject = KubeObject>(client: Pick<Client, "get">, ref: ObjectRef): Promise<T | undefined> {
  try {
    return await client.get<T>(ref);
  } catch (err) {
    if (isUnserved(err)) return undefined;
    throw err;
  }
}

/** Lists all objects of a kind; undefined if the kind is not served. */
export async function listOrNone(
  client: Pick<Client, "list">,
  gvk: { apiVersion: string; kind: string },
  options: Parameters<Client["list"]>[1] = {},
): Promise<readonly KubeObject[] | undefined> {
  try {
    return (await client.list(gvk, options)).items;
  } catch (err) {
    if (isUnserved(err)) return undefined;
    throw err;
  }
}

/** Lists the objects of a kind, in the first of `versions` that is served. */
async function listAny(
  client: Client,
  kind: string,
  versions: readonly string[],
  signal: AbortSignal,
): Promise<readonly KubeObject[] | undefined> {
  for (const version of versions) {
    const found = await listOrNone(client, { apiVersion: `${CLASSIC_GROUP}/${version}`, kind }, { signal });
    if (found) return found;
  }
  return undefined;
}

function isUnserved(err: unknown): boolean {
  return err instanceof KindNotServed || isNotFound(err);
}

const RBAC = "rbac.authorization.k8s.io/v1";
const ADMISSION = "admissionregistration.k8s.io/v1";

/** Kinds of objects that OLM v0 creates in the namespace of a ClusterServiceVersion. */
const NAMESPACED_KINDS: readonly GroupVersionKind[] = [
  { apiVersion: "apps/v1", kind: "Deployment" },
  { apiVersion: "v1", kind: "ServiceAccount" },
  { apiVersion: RBAC, kind: "Role" },
  { apiVersion: RBAC, kind: "RoleBinding" },
  { apiVersion: "v1", kind: "Service" },
  { apiVersion: "v1", kind: "ConfigMap" },
  { apiVersion: "v1", kind: "Secret" },
  { apiVersion: `${CLASSIC_GROUP}/v2`, kind: "OperatorCondition" },
];
/** Kinds of cluster-scoped objects and of objects in other namespaces, which only labels identify. */
const LABELLED_KINDS: readonly GroupVersionKind[] = [
  { apiVersion: RBAC, kind: "ClusterRole" },
  { apiVersion: RBAC, kind: "ClusterRoleBinding" },
  { apiVersion: RBAC, kind: "Role" },
  { apiVersion: RBAC, kind: "RoleBinding" },
  { apiVersion: ADMISSION, kind: "ValidatingWebhookConfiguration" },
  { apiVersion: ADMISSION, kind: "MutatingWebhookConfiguration" },
  { apiVersion: "apiregistration.k8s.io/v1", kind: "APIService" },
];
const LABEL_MAX = 63;

/**
 * Lists the objects that OLM v0 created for a ClusterServiceVersion, metadata only, without duplicates.
 * @param others kinds of the bundle's own manifests
 */
export async function listOlmV0Objects(
  client: Client,
  csv: MarkedBy,
  others: readonly GroupVersionKind[],
  signal: AbortSignal,
): Promise<KubeObject[]> {
  const found = new Map<string, KubeObject>();
  const keep = (objects: readonly KubeObject[] | undefined): void => {
    for (const object of objects ?? []) if (belongsToCsv(object, csv)) found.set(getObjectKey(object), object);
  };
  for (const gvk of distinctKinds([...NAMESPACED_KINDS, ...others]))
    keep(await listOrNone(client, gvk, { namespace: csv.namespace, metadataOnly: true, signal }));
  if (csv.name.length > LABEL_MAX) return [...found.values()];
  const labelSelector = `olm.owner=${csv.name},olm.owner.namespace=${csv.namespace}`;
  for (const gvk of LABELLED_KINDS) keep(await listOrNone(client, gvk, { labelSelector, metadataOnly: true, signal }));
  return [...found.values()];
}

/** Lists objects with a label, of kinds `others` and of all kinds that OLM v0 creates. */
export async function listLabelledObjects(
  client: Client,
  labelSelector: string,
  others: readonly GroupVersionKind[],
  signal: AbortSignal,
): Promise<KubeObject[]> {
  const found = new Map<string, KubeObject>();
  for (const gvk of distinctKinds([...NAMESPACED_KINDS, ...LABELLED_KINDS, ...others]))
    for (const object of (await listOrNone(client, gvk, { labelSelector, metadataOnly: true, signal })) ?? [])
      found.set(getObjectKey(object), object);
  return [...found.values()];
}

function distinctKinds(kinds: readonly GroupVersionKind[]): GroupVersionKind[] {
  return [...new Map(kinds.map(({ apiVersion, kind }) => [`${apiVersion}/${kind}`, { apiVersion, kind }])).values()];
}

const ATTEMPTS = 5;

/**
 * Patches the current state of a live object; retries on conflict.
 * @param patch returns a patch with the object's resourceVersion; undefined for no change
 * @returns whether the object exists
 */
export async function patchLive(client: Client, ref: ObjectRef, patch: (live: KubeObject) => unknown): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    const live = await readOrNone(client, ref);
    if (!live) return false;
    const body = patch(live);
    if (body === undefined) return true;
    try {
      await client.patch(ref, body, { type: "merge", fieldManager: MIGRATION_FIELD_MANAGER });
      return true;
    } catch (err) {
      if (attempt === ATTEMPTS || !isConflict(err)) throw err;
    }
  }
}
