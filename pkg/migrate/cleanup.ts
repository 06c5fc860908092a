import { getNamespace } from "../api/clusterExtension.ts";
import { CLUSTER_EXTENSION } from "../api/constants.ts";
import { type KubeObject, type ObjectRef, toObjectRef } from "../api/k8s.ts";
import {
  ANNOTATION_BACKUP_DIGEST,
  ANNOTATION_OPERATOR_GROUP_BACKUP,
  ANNOTATION_STEP,
  ANNOTATION_SUBSCRIPTION_BACKUP,
  CLASSIC_GROUP,
  getComponentLabel,
  LABEL_LEFTOVER,
  MIGRATION_FIELD_MANAGER,
} from "../api/migration.ts";
import { getObjectAt, getTextsAt } from "../golang/members.ts";
import type { Client } from "../kube/client.ts";
import { isConflict } from "../kube/errors.ts";
import { getObjectKey } from "../release/identity.ts";
import { getBackupRef } from "./backup.ts";
import type { MigratedExtension } from "./migratedExtensions.ts";
import { CSV, listLabelledObjects, listOrNone, readOlmV0Cluster, readOrNone } from "./olmV0Cluster.ts";
import { parseSubscription, SUBSCRIPTION_VERSIONS } from "./subscription.ts";

/** An object that a cleanup deletes. */
export interface Leftover {
  readonly ref: ObjectRef;
  readonly uid: string | undefined;
}

/** The scope of a cleanup. */
export interface CleanupRequest {
  readonly client: Client;
  /** Whether to also delete the OperatorGroup. It must not be needed by other operators. */
  readonly operatorGroup: boolean;
  readonly signal: AbortSignal;
}

/**
 * Finds OLM v0 objects that remain after the conversion of a Subscription: objects with names that OLM v0 generated, copies of the
 * ClusterServiceVersion, InstallPlans, and the Operator object.
 * @throws Error if the conversion is not complete, or if other operators need the OperatorGroup
 */
export async function findLeftovers(migrated: MigratedExtension, { client, operatorGroup, signal }: CleanupRequest): Promise<Leftover[]> {
  const { extension, step, subscription, backup, group } = migrated;
  const { name } = extension.metadata;
  if (step !== undefined && step !== "Installed")
    throw new Error(
      `the conversion of ${CLUSTER_EXTENSION} "${name}" stopped after step ${step}: run olmv1 migrate convert again before you delete its backups`,
    );
  if (!subscription || !backup) return [];
  const { namespace, packageName } = parseSubscription(subscription);
  const kinds = backup.marks.map(({ ref }) => ref);
  const marked = await listLabelledObjects(client, `${LABEL_LEFTOVER}=${name}`, kinds, signal);
  const copies = (await listOrNone(client, CSV, { labelSelector: `olm.copiedFrom=${namespace}`, metadataOnly: true, signal })) ?? [];
  const csv = backup.csv.metadata.name;
  const plans = await installPlans(client, { namespace, csv, packageName }, signal);
  const operator = await readOrNone(client, { apiVersion: `${CLASSIC_GROUP}/v1`, kind: "Operator", name: `${packageName}.${namespace}` });
  const groups = operatorGroup && group ? await requireUnneeded(client, group, signal) : [];
  const found = [...marked, ...copies.filter((copy) => copy.metadata.name === csv), ...plans, ...(operator ? [operator] : []), ...groups];
  return found.map((object) => ({ ref: toObjectRef(object), uid: object.metadata.uid }));
}

/** Deletes the leftovers, then the backups. Keeps the annotation with the name of the converted Subscription. */
export async function cleanUp(migrated: MigratedExtension, found: readonly Leftover[], { client, signal }: CleanupRequest): Promise<void> {
  for (const { ref, uid } of found) {
    signal.throwIfAborted();
    await client.delete(ref, { propagationPolicy: "Background", ...(uid === undefined ? {} : { uid }) }).catch((err: unknown) => {
      if (!isConflict(err)) throw err; // another object replaced it
    });
  }
  const { extension, ref } = migrated;
  await client.delete(getBackupRef(extension.metadata.name, getNamespace(extension)));
  const gone = {
    [ANNOTATION_STEP]: null,
    [ANNOTATION_BACKUP_DIGEST]: null,
    [ANNOTATION_SUBSCRIPTION_BACKUP]: null,
    [ANNOTATION_OPERATOR_GROUP_BACKUP]: null,
  };
  await client.patch(ref, { metadata: { annotations: gone } }, { type: "merge", fieldManager: MIGRATION_FIELD_MANAGER });
}

/** Returns the InstallPlans that installed only ClusterServiceVersions of this Subscription. */
async function installPlans(
  client: Client,
  { namespace, csv, packageName }: { namespace: string; csv: string; packageName: string },
  signal: AbortSignal,
): Promise<KubeObject[]> {
  const found = new Map<string, KubeObject>();
  const component = getComponentLabel({ packageName, namespace });
  for (const version of SUBSCRIPTION_VERSIONS) {
    const plans = await listOrNone(client, { apiVersion: `${CLASSIC_GROUP}/${version}`, kind: "InstallPlan" }, { namespace, signal });
    for (const plan of plans ?? []) {
      if (isPlanFor(plan, component, csv) && !found.has(getObjectKey(plan))) found.set(getObjectKey(plan), plan);
    }
  }
  return [...found.values()];
}

/**
 * OLM v0 labels InstallPlans with the package, regardless of the version. Without the label, an InstallPlan matches if the ClusterServiceVersion is
 * the only one that it installs.
 */
function isPlanFor({ metadata, ...plan }: KubeObject, component: string, csv: string): boolean {
  const components = Object.keys(metadata.labels ?? {}).filter((key) => key.startsWith(`${CLASSIC_GROUP}/`));
  if (components.length > 0) return components.every((key) => key === component);
  const names = getTextsAt(getObjectAt(plan, "spec"), "clusterServiceVersionNames");
  return names.length === 1 && names[0] === csv;
}

/** @throws Error if another Subscription or ClusterServiceVersion in the namespace needs the OperatorGroup */
async function requireUnneeded(client: Client, group: KubeObject, signal: AbortSignal): Promise<KubeObject[]> {
  const live = await readOrNone(client, toObjectRef(group));
  if (!live) return [];
  const { subscriptions, csvs } = await readOlmV0Cluster(client, signal);
  const others = [...subscriptions, ...csvs].filter(({ metadata }) => metadata.namespace === group.metadata.namespace);
  if (others.length === 0) return [live];
  const named = others.map(({ kind, metadata }) => `${kind} ${metadata.name}`).join(", ");
  throw new Error(`OperatorGroup "${group.metadata.namespace ?? ""}/${group.metadata.name}" is still needed by ${named}`);
}
