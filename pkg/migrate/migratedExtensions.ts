import type { ClusterExtension } from "../api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../api/constants.ts";
import type { KubeObject, ObjectRef } from "../api/k8s.ts";
import {
  ANNOTATION_BACKUP_DIGEST,
  ANNOTATION_MIGRATED_FROM,
  ANNOTATION_OPERATOR_GROUP_BACKUP,
  ANNOTATION_STEP,
  ANNOTATION_SUBSCRIPTION_BACKUP,
  type ConversionStep,
  conversionStep,
} from "../api/migration.ts";
import { wrapError } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { compareText } from "../text/compare.ts";
import { type Backup, backupRef, readBackup } from "./backup.ts";
import { backupFrom } from "./objectBackup.ts";
import { subscriptionFrom } from "./subscription.ts";

/** An extension that a Subscription became, or is becoming, and what is kept of the old objects. */
export interface Migrated {
  readonly extension: ClusterExtension;
  readonly ref: ObjectRef;
  /** "namespace/name" of the Subscription. */
  readonly from: string;
  /** The last step that is done; undefined before the first, and once it is cleaned up. */
  readonly step: ConversionStep | undefined;
  readonly subscription: KubeObject | undefined;
  readonly group: KubeObject | undefined;
  readonly backup: Backup | undefined;
}

/**
 * The extension of that name, or the one that the Subscription of that name became.
 * @param namespace of the Subscription; undefined for any.
 * @returns undefined where there is none. @throws Error where there are several.
 */
export async function findMigrated(
  client: Client,
  name: string,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<Migrated | undefined> {
  const { items } = await client.list<ClusterExtension>({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION }, { signal });
  const migrated = items.filter(({ metadata }) => metadata.annotations?.[ANNOTATION_MIGRATED_FROM] !== undefined);
  const isFrom = (extension: ClusterExtension): boolean => {
    const [from, subscription] = (extension.metadata.annotations?.[ANNOTATION_MIGRATED_FROM] ?? "").split("/");
    return subscription === name && (namespace === undefined || from === namespace);
  };
  const found = migrated.filter(isFrom);
  const [
    extension = migrated.find(({ metadata, spec }) => metadata.name === name && (namespace ?? spec.namespace) === spec.namespace),
    ...others
  ] = found;
  if (others.length > 0) throw new Error(`Subscriptions "${name}" of several namespaces were converted: say which with --namespace`);
  return extension && migratedFrom(client, extension);
}

/** All of them, by namespace and name of the Subscription. Backups that cannot be read are told when their turn comes. */
export async function listMigrated(client: Client, namespace: string | undefined, signal: AbortSignal): Promise<MigratedRef[]> {
  const { items } = await client.list<ClusterExtension>({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION }, { signal });
  const found = items.flatMap((extension) => {
    const from = extension.metadata.annotations?.[ANNOTATION_MIGRATED_FROM];
    if (from === undefined || (namespace !== undefined && extension.spec.namespace !== namespace)) return [];
    const name = from.slice(from.indexOf("/") + 1);
    return [{ namespace: extension.spec.namespace, name, read: () => migratedFrom(client, extension) }];
  });
  return found.sort((a, b) => compareText(`${a.namespace}/${a.name}`, `${b.namespace}/${b.name}`));
}

/** A Subscription that became an extension. */
export interface MigratedRef {
  readonly namespace: string;
  readonly name: string;
  /** @throws Error for backups that cannot be read. */
  readonly read: () => Promise<Migrated>;
}

/** The same. @throws Error where there is none, too. */
export async function requireMigrated(client: Client, name: string, namespace: string | undefined, signal: AbortSignal): Promise<Migrated> {
  const found = await findMigrated(client, name, namespace, signal);
  if (found) return found;
  throw new Error(
    `no ClusterExtension "${name}" came from a Subscription, and no Subscription "${name}" became one: olmv1 migrate check -A lists all`,
  );
}

/** @throws Error for backups that cannot be read, or that are none of the Subscription's. */
async function migratedFrom(client: Client, extension: ClusterExtension): Promise<Migrated> {
  const { name, annotations = {} } = extension.metadata;
  const { namespace } = extension.spec;
  const { [ANNOTATION_MIGRATED_FROM]: from = "", [ANNOTATION_BACKUP_DIGEST]: digest } = annotations;
  const ref = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name };
  try {
    const subscription = backupFrom(annotations[ANNOTATION_SUBSCRIPTION_BACKUP], {
      kind: "Subscription",
      namespace,
      name: from.slice(from.indexOf("/") + 1),
    });
    const csv = subscription && subscriptionFrom(subscription).installedCsv;
    return {
      extension,
      ref,
      from,
      step: conversionStep(annotations[ANNOTATION_STEP]),
      subscription,
      group: backupFrom(annotations[ANNOTATION_OPERATOR_GROUP_BACKUP], { kind: "OperatorGroup", namespace }),
      backup: digest === undefined ? undefined : await readBackup(client, backupRef(name, namespace), digest, { namespace, name: csv }),
    };
  } catch (err) {
    throw wrapError(`the backups of ClusterExtension "${name}": `, err);
  }
}
