import { setTimeout as sleep } from "node:timers/promises";
import { type ClusterExtension, getNamespace } from "../api/clusterExtension.ts";
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
  LABEL_MIGRATION,
  MIGRATION_FIELD_MANAGER,
} from "../api/migration.ts";
import { getNonEmptyText, getObjectAt, getObjectsAt, getTextsAt } from "../golang/members.ts";
import type { Client } from "../kube/client.ts";
import { isConflict } from "../kube/errors.ts";
import { getBackupRef } from "./backup.ts";
import type { MigratedExtension } from "./migratedExtensions.ts";
import { CSV, listLabelledObjects, listOrNone, readOlmV0Cluster, readOrNone } from "./olmV0Cluster.ts";
import { listInstallPlans } from "./plannedObjects.ts";
import { parseSubscription } from "./subscription.ts";

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
  if (!subscription || !backup) return findBackupSecret(client, extension);
  const { namespace, packageName } = parseSubscription(subscription);
  const kinds = backup.marks.map(({ ref }) => ref);
  const marked = await listLabelledObjects(client, `${LABEL_LEFTOVER}=${name}`, kinds, signal);
  const copies = (await listOrNone(client, CSV, { labelSelector: `olm.copiedFrom=${namespace}`, metadataOnly: true, signal })) ?? [];
  const csv = backup.csv.metadata.name;
  const plans = await findInstallPlans(client, { namespace, csv, packageName }, signal);
  const operator = await readOrNone(client, { apiVersion: `${CLASSIC_GROUP}/v1`, kind: "Operator", name: `${packageName}.${namespace}` });
  const readers = await findAuthReaders(client, backup.csv);
  const groups = operatorGroup && group ? await requireUnneeded(client, group, signal) : [];
  // Until the next upgrade, the Pods have the variable with its name: operators fail without the object.
  const isUsed = extension.status?.install?.bundle.name === csv;
  const found = [
    ...marked.filter(({ kind }) => !isUsed || kind !== "OperatorCondition"),
    ...copies.filter((copy) => copy.metadata.name === csv),
    ...readers,
    ...plans,
    ...(operator ? [operator] : []),
    ...groups,
  ];
  return found.map((object) => ({ ref: toObjectRef(object), uid: object.metadata.uid }));
}

/** Returns the Secret with the backup, which remains if a cleanup was interrupted after it had removed the annotations. */
async function findBackupSecret(client: Client, extension: ClusterExtension): Promise<Leftover[]> {
  const { name } = extension.metadata;
  const ref = getBackupRef(name, getNamespace(extension));
  const found = await client.get(ref, { metadataOnly: true });
  return found?.metadata.labels?.[LABEL_MIGRATION] === name ? [{ ref, uid: found.metadata.uid }] : [];
}

/** Attempts to delete the Operator object, and the time between them in milliseconds. */
const OPERATOR_ATTEMPTS = 10;
const OPERATOR_WAIT_MS = 500;

/** Deletes the Operator object until OLM v0 no longer recreates it, which it does as long as its cache contains an object with the component label. */
async function deleteOperator(client: Client, ref: ObjectRef, signal: AbortSignal): Promise<void> {
  for (let attempt = 0; attempt < OPERATOR_ATTEMPTS; attempt++) {
    await client.delete(ref);
    await sleep(OPERATOR_WAIT_MS, undefined, { signal });
    if (!(await readOrNone(client, ref))) return;
  }
}

/**
 * Deletes the leftovers, then the backups: the Secret last, because a rollback needs it as long as the annotations exist. Keeps the annotation with the
 * name of the converted Subscription.
 */
export async function cleanUp(migrated: MigratedExtension, found: readonly Leftover[], { client, signal }: CleanupRequest): Promise<void> {
  const isOperator = ({ ref }: Leftover): boolean => ref.kind === "Operator";
  for (const { ref, uid } of found.filter((one) => !isOperator(one))) {
    signal.throwIfAborted();
    await client.delete(ref, { propagationPolicy: "Background", ...(uid === undefined ? {} : { uid }) }).catch((err: unknown) => {
      if (!isConflict(err)) throw err; // another object replaced it
    });
  }
  const operator = found.find(isOperator);
  if (operator) await deleteOperator(client, operator.ref, signal);
  const { extension, ref } = migrated;
  const gone = {
    [ANNOTATION_STEP]: null,
    [ANNOTATION_BACKUP_DIGEST]: null,
    [ANNOTATION_SUBSCRIPTION_BACKUP]: null,
    [ANNOTATION_OPERATOR_GROUP_BACKUP]: null,
  };
  await client.patch(ref, { metadata: { annotations: gone } }, { type: "merge", fieldManager: MIGRATION_FIELD_MANAGER });
  await client.delete(getBackupRef(extension.metadata.name, getNamespace(extension)));
}

const AUTH_READER_NAMESPACE = "kube-system";

/**
 * Returns the RoleBindings in kube-system that OLM v0 creates for operators with webhooks or aggregated APIs. They have no owner.
 * @see https://github.com/operator-framework/operator-lifecycle-manager/blob/992bb0977/pkg/controller/install/certresources.go
 */
async function findAuthReaders(client: Client, csv: KubeObject): Promise<KubeObject[]> {
  const strategy = getObjectAt(getObjectAt(getObjectAt(csv, "spec"), "install"), "spec");
  const names = getObjectsAt(strategy, "deployments").flatMap((deployment) => getNonEmptyText(deployment, "name") ?? []);
  const found: KubeObject[] = [];
  for (const name of names) {
    const live = await client.get({
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      namespace: AUTH_READER_NAMESPACE,
      name: `${name}-service-auth-reader`,
    });
    if (!live || live.metadata.labels?.["olm.managed"] !== "true") continue;
    const subjects = getObjectsAt(live, "subjects");
    if (subjects.every((subject) => subject["namespace"] === csv.metadata.namespace)) found.push(live);
  }
  return found;
}

/**
 * Returns the InstallPlans of a ClusterServiceVersion or package that no other operator needs: no other ClusterServiceVersion that they name exists.
 * As long as an InstallPlan has a component label, OLM v0 recreates the Operator object.
 */
async function findInstallPlans(
  client: Client,
  { namespace, csv, packageName }: { namespace: string; csv: string; packageName: string },
  signal: AbortSignal,
): Promise<KubeObject[]> {
  const component = getComponentLabel({ packageName, namespace });
  const csvs = (await listOrNone(client, CSV, { namespace, metadataOnly: true, signal })) ?? [];
  const existing = new Set(csvs.map(({ metadata }) => metadata.name));
  return (await listInstallPlans(client, namespace, signal)).filter((plan) => {
    const names = getTextsAt(getObjectAt(plan, "spec"), "clusterServiceVersionNames");
    const isOurs = names.includes(csv) || plan.metadata.labels?.[component] !== undefined;
    return isOurs && !names.some((name) => name !== csv && existing.has(name));
  });
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
