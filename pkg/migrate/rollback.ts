import { type ClusterExtension, getNamespace } from "../api/clusterExtension.ts";
import { findCondition } from "../api/conditions.ts";
import { CLUSTER_EXTENSION, ConditionType } from "../api/constants.ts";
import { type JsonObject, type KubeObject, toObjectRef } from "../api/k8s.ts";
import { ANNOTATION_BACKUP_DIGEST, ANNOTATION_STEP, type ConversionStep, MIGRATION_FIELD_MANAGER } from "../api/migration.ts";
import { waitFor } from "../async/poll.ts";
import { getObjectAt } from "../golang/members.ts";
import type { Client } from "../kube/client.ts";
import { describeObject } from "../release/identity.ts";
import { waitUntilSuspended } from "../rollout/suspension.ts";
import { type Backup, getBackupRef } from "./backup.ts";
import { deleteCreated } from "./conversionRemains.ts";
import { describeMissingBackup, hasCompleted, isBackedUp, type MigratedExtension } from "./migratedExtensions.ts";
import { splitBackup } from "./objectBackup.ts";
import { patchLive, readOrNone } from "./olmV0Cluster.ts";
import { type KeptVersion, readKeptVersion } from "./operatorUpgrade.ts";
import { buildRestoringPatch, buildSecretPatch, hasServingCertificate } from "./ownershipMarks.ts";
import { getMarkIdentity } from "./planConversion.ts";
import { releaseCsv } from "./runConversion.ts";
import { isOrphan } from "./subscription.ts";

/** Options for the rollback of a conversion. */
export interface ConversionRollbackOptions {
  readonly client: Client;
  /** Timeout for operator-controller to suspend the extension, and then to remove its finalizer, in milliseconds each. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly report: (what: string) => void;
  readonly done: (what: string) => void;
}

/**
 * Lists the steps of a rollback, one sentence each.
 * @param isReplaced whether OLM v0 has upgraded or removed the operator since the conversion began
 * @throws Error with the reason if the rollback is no longer possible
 */
export function listRollbackSteps(migrated: MigratedExtension, isReplaced = false): string[] {
  const { extension, from, step, subscription, group, backup } = migrated;
  const { name } = extension.metadata;
  if (!subscription)
    throw new Error(
      `${CLUSTER_EXTENSION} "${name}" cannot be rolled back: it has no backup of Subscription "${from}", for example because of a cleanup`,
    );
  if (!backup && needsBackup(migrated))
    throw new Error(`${CLUSTER_EXTENSION} "${name}" cannot be rolled back to OLM v0: ${describeMissingBackup(extension)}`);
  const [pinned, installed] = [extension.spec.source.catalog?.version, extension.status?.install?.bundle.version];
  const version = backup && readCsvVersion(backup.csv);
  if (installed !== undefined && version !== undefined && installed !== version)
    throw new Error(
      `${CLUSTER_EXTENSION} "${name}" cannot be rolled back to OLM v0: it was upgraded from ${version} to ${installed}. First roll back to ${version} with olmv1 rollback`,
    );
  const adopted = backup?.marks.filter((marks) => marks.adopted).length ?? 0;
  const suspend = `suspend ${CLUSTER_EXTENSION} ${name}${step === undefined ? "" : ` (converted up to step ${step}${pinned === undefined ? "" : `, version ${pinned}`})`}`;
  const removal = [
    `delete ${CLUSTER_EXTENSION} ${name}, its releases, and the objects that it created itself`,
    "delete the ServiceAccount and roles that the conversion created, and the backup",
  ];
  if (backup && isReplaced)
    return [suspend, `leave the operator unchanged: OLM v0 has upgraded or removed ${describeObject(backup.csv)}`, ...removal];
  return [
    suspend,
    ...(group ? [`restore ${describeObject(group)} if it does not exist`] : []),
    ...(backup?.marks.some(hasServingCertificate) ? ["restore the certificates that OLM v0 created"] : []),
    ...(isOrphan(subscription) ? [] : [`restore ${describeObject(subscription)} with its status, if it does not exist`]),
    ...(backup
      ? [
          `restore ${describeObject(backup.csv)} with its status, if it does not exist`,
          `return ${adopted} objects to this ClusterServiceVersion unchanged`,
        ]
      : []),
    ...removal,
  ];
}

/** Whether the extension can own objects of the operator. Without a backup, a rollback would then delete them with the extension. */
function needsBackup({ extension, step }: MigratedExtension): boolean {
  const hasDigest = extension.metadata.annotations?.[ANNOTATION_BACKUP_DIGEST] !== undefined;
  return hasDigest || isBackedUp({ step }) || extension.status?.install !== undefined;
}

/** A conversion to roll back. */
export interface ConversionRollback {
  readonly migrated: MigratedExtension;
  readonly options: ConversionRollbackOptions;
}

/** Rolls back one conversion like `rollBackConversions`. */
export function rollBackConversion(migrated: MigratedExtension, options: ConversionRollbackOptions): Promise<void> {
  return rollBackConversions([{ migrated, options }]);
}

/**
 * Returns operators to OLM v0 without touching their workloads. First OLM v0 gets all of them, dependencies first, because it would reinstall a missing
 * dependency. Then the extensions are deleted, dependents first, because the deletion of an extension waits for its dependents. Each step checks the
 * current state, so an interrupted rollback can be repeated.
 * @param rollbacks sorted, dependents before their dependencies
 * @throws Error with the step that failed; before any change if a rollback is not possible
 */
export async function rollBackConversions(rollbacks: readonly ConversionRollback[]): Promise<void> {
  const kept = new Map<ConversionRollback, KeptVersion>();
  for (const one of rollbacks) {
    const version = await readKeptVersion(one.options.client, one.migrated, one.options.signal);
    listRollbackSteps(one.migrated, version.isReplaced);
    kept.set(one, version);
  }
  for (const [one, version] of [...kept].toReversed()) await returnOperator(one, version);
  for (const one of rollbacks) await deleteExtension(one);
}

/**
 * Suspends an extension, and removes its marks from the objects of the operator. Restores certificates first and the Subscription before the
 * ClusterServiceVersion: as soon as a ClusterServiceVersion exists, OLM v0 computes its Deployments from these. Restores none of them if OLM v0 upgraded
 * the operator before the conversion released it.
 */
async function returnOperator({ migrated, options }: ConversionRollback, kept: KeptVersion): Promise<void> {
  const { client, timeoutMs, signal, report, done } = options;
  const { extension, ref, backup } = migrated;
  report("suspending the extension");
  const suspended = await client.patch<ClusterExtension>(ref, buildSuspension(migrated, kept), {
    type: "merge",
    fieldManager: MIGRATION_FIELD_MANAGER,
  });
  await waitUntilSuspended(client, suspended, { timeoutMs, signal });
  done(`${CLUSTER_EXTENSION} ${extension.metadata.name} is suspended`);
  if (kept.isReplaced && backup) await leaveReplaced(migrated, backup, options);
  else await restoreOperator(migrated, options);
}

/** Deletes an extension without objects of the operator, then the objects that the conversion created. */
async function deleteExtension({ migrated, options }: ConversionRollback): Promise<void> {
  const { client, timeoutMs, signal, report, done } = options;
  const { extension, ref } = migrated;
  const { name, uid = "" } = extension.metadata;
  report("deleting the extension");
  await client.delete(ref, { propagationPolicy: "Background", ...(uid === "" ? {} : { uid }) });
  await waitFor({ timeoutMs, signal, what: `${CLUSTER_EXTENSION} "${name}" to be deleted` }, async () => {
    const found = await client.get<ClusterExtension>(ref);
    if (!found || found.metadata.uid !== uid) return { done: true };
    return {
      reason:
        findCondition(found.status?.conditions, ConditionType.Progressing)?.message ?? "operator-controller has not removed its finalizer",
    };
  });
  done(`${CLUSTER_EXTENSION} ${name} is deleted`);
  await deleteCreated(client, name, signal);
  await client.delete(getBackupRef(name, getNamespace(extension)));
}

/**
 * Returns the patch that suspends an extension. If the conversion stopped while it deleted the ClusterServiceVersion, also records this step: otherwise, a
 * repeated rollback would not know that it must restore the ClusterServiceVersion.
 */
function buildSuspension(migrated: MigratedExtension, { isReplaced, isTerminated }: KeptVersion): JsonObject {
  const step: ConversionStep = "Terminating";
  const isRecorded = hasCompleted(migrated, step) || isReplaced || !isTerminated;
  return { ...(isRecorded ? {} : { metadata: { annotations: { [ANNOTATION_STEP]: step } } }), spec: { suspend: true } };
}

/** Restores the objects of OLM v0 from the backups, and returns the objects of the operator to the ClusterServiceVersion. */
async function restoreOperator(migrated: MigratedExtension, options: ConversionRollbackOptions): Promise<void> {
  const { client, signal } = options;
  const { subscription, group, backup } = migrated;
  if (group) await restore(group, options);
  for (const marks of backup?.marks ?? [])
    if (hasServingCertificate(marks)) await patchLive(client, marks.ref, (live) => buildSecretPatch(live, marks));
  if (backup) await releaseCsv(client, toObjectRef(backup.csv), signal);
  const restored = subscription && !isOrphan(subscription) ? subscription : undefined;
  if (restored) await restore(withManualApproval(restored), options);
  if (backup) await returnObjects(migrated, backup, await restore(backup.csv, options), options);
  if (restored) await restoreApproval(client, restored);
}

/** Removes the marks of the extension, and a finalizer of the conversion. Changes nothing else of an operator that OLM v0 has upgraded. */
async function leaveReplaced(migrated: MigratedExtension, backup: Backup, options: ConversionRollbackOptions): Promise<void> {
  const { client, signal } = options;
  const ref = toObjectRef(backup.csv);
  await releaseCsv(client, ref, signal);
  await returnObjects(migrated, backup, await readOrNone(client, ref), options);
}

/** Transfers the objects that have the extension's marks back to OLM v0. @param csv the live ClusterServiceVersion, if it exists */
async function returnObjects(
  { extension, subscription }: MigratedExtension,
  backup: Backup,
  csv: KubeObject | undefined,
  { client, signal, report, done }: ConversionRollbackOptions,
): Promise<void> {
  if (!subscription) return;
  const { name, uid = "" } = extension.metadata;
  const owner = { ...getMarkIdentity({ subscription, csv: backup.csv }), uid: csv?.metadata.uid };
  report("returning the objects to OLM v0");
  for (const marks of backup.marks) {
    signal.throwIfAborted();
    await patchLive(client, marks.ref, (live) => buildRestoringPatch(live, marks, owner, { name, uid }));
  }
  done(csv ? `${backup.marks.length} objects belong to ${describeObject(csv)} again` : "OLM v0 keeps the operator unchanged");
}

/**
 * Creates an object from its backup, with its status: OLM v0 then treats the version as installed and does not reinstall it. Waits until an earlier
 * object with this name, which the conversion or a user has deleted, is gone.
 * @returns the live object
 * @throws WaitTimeoutError with the finalizers that block the deletion
 */
async function restore(backup: KubeObject, { client, timeoutMs, signal, done }: ConversionRollbackOptions): Promise<KubeObject> {
  const ref = toObjectRef(backup);
  const live = await waitFor({ timeoutMs, signal, what: `${describeObject(ref)} to be deleted` }, async () => {
    const found = await readOrNone(client, ref);
    if (found?.metadata.deletionTimestamp === undefined) return { done: found };
    return { reason: `finalizers ${(found.metadata.finalizers ?? []).join(", ")} remain` };
  });
  if (live) return live;
  const { object, status } = splitBackup(backup);
  const created = await client.create(object, { fieldManager: MIGRATION_FIELD_MANAGER });
  if (status) await client.patch(ref, { status }, { type: "merge", subresource: "status", fieldManager: MIGRATION_FIELD_MANAGER });
  done(`${describeObject(backup)} is restored`);
  return created;
}

/**
 * Returns a Subscription with manual approval: until its ClusterServiceVersion is restored, OLM v0 would otherwise install the package again.
 */
function withManualApproval(subscription: KubeObject): KubeObject {
  return { ...subscription, spec: { ...getObjectAt(subscription, "spec"), installPlanApproval: "Manual" } };
}

async function restoreApproval(client: Client, subscription: KubeObject): Promise<void> {
  const approval = getObjectAt(subscription, "spec")["installPlanApproval"] ?? null;
  await patchLive(client, toObjectRef(subscription), (live) => {
    if (getObjectAt(live, "spec")["installPlanApproval"] === approval) return undefined;
    return { metadata: { resourceVersion: live.metadata.resourceVersion }, spec: { installPlanApproval: approval } };
  });
}

function readCsvVersion(csv: KubeObject): string | undefined {
  const { version } = (csv["spec"] ?? {}) as { version?: unknown };
  return typeof version === "string" ? version : undefined;
}
