import { type ClusterExtension, getNamespace } from "../api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../api/constants.ts";
import type { KubeObject, ObjectRef } from "../api/k8s.ts";
import {
  ANNOTATION_BACKUP_DIGEST,
  ANNOTATION_FOREIGN_BACKUP,
  ANNOTATION_MIGRATED_FROM,
  ANNOTATION_OPERATOR_GROUP_BACKUP,
  ANNOTATION_STEP,
  ANNOTATION_SUBSCRIPTION_BACKUP,
  CONVERSION_STEPS,
  type ConversionStep,
  parseConversionStep,
} from "../api/migration.ts";
import { wrapError } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import type { Client } from "../kube/client.ts";
import { describeObject } from "../release/identity.ts";
import { compareText } from "../text/compare.ts";
import { type Backup, getBackupRef, readBackup } from "./backup.ts";
import { parseBackup } from "./objectBackup.ts";
import { parseSubscription } from "./subscription.ts";

/** An extension from a complete or interrupted conversion, with the backups of the OLM v0 objects. */
export interface MigratedExtension {
  readonly extension: ClusterExtension;
  readonly ref: ObjectRef;
  /** "namespace/name" of the Subscription. */
  readonly from: string;
  /** The last completed step; undefined before the first step and after the cleanup. */
  readonly step: ConversionStep | undefined;
  readonly subscription: KubeObject | undefined;
  readonly group: KubeObject | undefined;
  readonly backup: Backup | undefined;
}

/**
 * Finds the converted extension with this name, or the extension that was converted from the Subscription with this name.
 * @param namespace namespace of the Subscription; undefined for any
 * @returns undefined if there is no such extension
 * @throws Error if several match
 */
export async function findMigrated(
  client: Client,
  name: string,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<MigratedExtension | undefined> {
  const { items } = await client.list<ClusterExtension>({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION }, { signal });
  const migrated = items.filter(({ metadata }) => metadata.annotations?.[ANNOTATION_MIGRATED_FROM] !== undefined);
  const isFrom = (extension: ClusterExtension): boolean => {
    const [from, subscription] = (extension.metadata.annotations?.[ANNOTATION_MIGRATED_FROM] ?? "").split("/");
    return subscription === name && (namespace === undefined || from === namespace);
  };
  const found = migrated.filter(isFrom);
  const [
    extension = migrated.find((one) => one.metadata.name === name && (namespace ?? getNamespace(one)) === getNamespace(one)),
    ...others
  ] = found;
  if (others.length > 0) throw new Error(`Subscriptions "${name}" in several namespaces were converted: select one with --namespace`);
  return extension && migratedFrom(client, extension);
}

/**
 * Lists all converted extensions, sorted by namespace and name of the Subscription. Does not read backups; `read` does, and reports invalid backups.
 */
export async function listMigrated(client: Client, namespace: string | undefined, signal: AbortSignal): Promise<MigratedRef[]> {
  const { items } = await client.list<ClusterExtension>({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION }, { signal });
  const found = items.flatMap((extension) => {
    const from = extension.metadata.annotations?.[ANNOTATION_MIGRATED_FROM];
    if (from === undefined || (namespace !== undefined && getNamespace(extension) !== namespace)) return [];
    const name = from.slice(from.indexOf("/") + 1);
    return [{ namespace: getNamespace(extension), name, read: () => migratedFrom(client, extension) }];
  });
  return found.sort((a, b) => compareText(`${a.namespace}/${a.name}`, `${b.namespace}/${b.name}`));
}

/** A Subscription that was converted. */
export interface MigratedRef {
  readonly namespace: string;
  readonly name: string;
  /** @throws Error if the backups are invalid */
  readonly read: () => Promise<MigratedExtension>;
}

/** Finds a converted extension like `findMigrated`. @throws Error also if it does not exist */
export async function requireMigrated(
  client: Client,
  name: string,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<MigratedExtension> {
  const found = await findMigrated(client, name, namespace, signal);
  if (found) return found;
  throw new Error(describeUnknown(name));
}

/** Describes for an error that no converted extension or Subscription has this name. */
export function describeUnknown(name: string): string {
  return `no converted Subscription or ClusterExtension "${name}" found: to list all, run olmv1 migrate check -A`;
}

/** Whether the conversion has completed this step. */
export function hasCompleted({ step }: Pick<MigratedExtension, "step">, wanted: ConversionStep): boolean {
  return step !== undefined && CONVERSION_STEPS.indexOf(step) >= CONVERSION_STEPS.indexOf(wanted);
}

/** Whether the conversion has completed the step that writes the backup Secret; later steps delete and change objects of OLM v0. */
export function isBackedUp(migrated: Pick<MigratedExtension, "step">): boolean {
  return hasCompleted(migrated, "BackedUp");
}

/** Describes the Secret with the backup of an extension's conversion for an error: it does not exist. */
export function describeMissingBackup(extension: ClusterExtension): string {
  const secret = describeObject(getBackupRef(extension.metadata.name, getNamespace(extension)));
  return `${secret} with the backup of the conversion does not exist. Restore this Secret, for example from a backup of the cluster`;
}

/** @throws Error if the backups are invalid or belong to another Subscription, or if another tool converted the extension */
async function migratedFrom(client: Client, extension: ClusterExtension): Promise<MigratedExtension> {
  const { name, annotations = {} } = extension.metadata;
  const namespace = getNamespace(extension);
  const { [ANNOTATION_MIGRATED_FROM]: from = "", [ANNOTATION_BACKUP_DIGEST]: digest } = annotations;
  const ref = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name };
  if (annotations[ANNOTATION_FOREIGN_BACKUP] !== undefined)
    throw new Error(
      `${CLUSTER_EXTENSION} ${goQuote(name)} was converted by another tool, such as OpenShift's console. Use that tool to complete the conversion or to roll it back`,
    );
  try {
    const subscription = parseBackup(annotations[ANNOTATION_SUBSCRIPTION_BACKUP], {
      kind: "Subscription",
      namespace,
      name: from.slice(from.indexOf("/") + 1),
    });
    const csv = subscription && parseSubscription(subscription).installedCsv;
    return {
      extension,
      ref,
      from,
      step: parseConversionStep(annotations[ANNOTATION_STEP]),
      subscription,
      group: parseBackup(annotations[ANNOTATION_OPERATOR_GROUP_BACKUP], { kind: "OperatorGroup", namespace }),
      backup: digest === undefined ? undefined : await readBackup(client, getBackupRef(name, namespace), digest, { namespace, name: csv }),
    };
  } catch (err) {
    throw wrapError(`backups of ClusterExtension "${name}": `, err);
  }
}
