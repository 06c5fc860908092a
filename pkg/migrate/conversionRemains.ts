import { type ClusterExtension, getNamespace } from "../api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import { LABEL_MIGRATION } from "../api/migration.ts";
import type { Client } from "../kube/client.ts";
import { getBackupRef } from "./backup.ts";
import { listLabelledObjects } from "./olmV0Cluster.ts";

/** Objects that a conversion created, and whose extension no longer exists because a rollback was interrupted after it had deleted the extension. */
export interface ConversionRemains {
  /** Name of the deleted extension. */
  readonly extension: string;
  /** Metadata only, in the order in which to delete them: the Secret with the backup last. */
  readonly objects: readonly KubeObject[];
}

/** A label value. Others must not become part of a label selector. */
const LABEL_VALUE = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const SECRET = { apiVersion: "v1", kind: "Secret" } as const;

/** Lists the objects that the conversion of an extension created, metadata only, in the order in which to delete them. */
async function listCreated(client: Client, extension: string, signal: AbortSignal): Promise<KubeObject[]> {
  if (!LABEL_VALUE.test(extension)) return [];
  const found = await listLabelledObjects(client, `${LABEL_MIGRATION}=${extension}`, [], signal);
  const isBackup = ({ kind }: KubeObject): boolean => kind === SECRET.kind;
  return [...found.filter((one) => !isBackup(one)).toReversed(), ...found.filter(isBackup)];
}

/** Deletes the objects that a conversion created, which have its label: the Secret with the backup last. */
export async function deleteCreated(client: Client, extension: string, signal: AbortSignal): Promise<void> {
  await deleteRemains(client, { extension, objects: await listCreated(client, extension, signal) }, signal);
}

/** Deletes remains. Can be repeated after an interruption. */
export async function deleteRemains(client: Client, { objects }: ConversionRemains, signal: AbortSignal): Promise<void> {
  for (const { apiVersion, kind, metadata } of objects) {
    signal.throwIfAborted();
    const { name, namespace, uid } = metadata;
    await client.delete({ apiVersion, kind, name, namespace }, uid === undefined ? {} : { uid });
  }
}

/**
 * Finds the remains of a conversion.
 * @param extension name of the deleted extension
 * @param namespace namespace of the Subscription; undefined for any
 * @returns undefined without remains, or if an extension with this name or with their ServiceAccount exists
 */
export async function findRemains(
  client: Client,
  extension: string,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<ConversionRemains | undefined> {
  const objects = await listCreated(client, extension, signal);
  const isElsewhere = ({ metadata }: KubeObject): boolean => metadata.namespace !== undefined && metadata.namespace !== namespace;
  if (objects.length === 0 || (namespace !== undefined && objects.some(isElsewhere))) return undefined;
  const { items } = await client.list<ClusterExtension>({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION }, { signal });
  const uses = (one: ClusterExtension, { kind, metadata }: KubeObject): boolean =>
    kind === "ServiceAccount" && metadata.name === one.spec.serviceAccount?.name && metadata.namespace === getNamespace(one);
  const isUsed = items.some((one) => one.metadata.name === extension || objects.some((object) => uses(one, object)));
  return isUsed ? undefined : { extension, objects };
}

/** Lists all remains with a backup, by name of the extension. @param namespace namespace of the Subscriptions; undefined for any */
export async function listRemains(client: Client, namespace: string | undefined, signal: AbortSignal): Promise<ConversionRemains[]> {
  const { items } = await client.list(SECRET, {
    ...(namespace === undefined ? {} : { namespace }),
    labelSelector: LABEL_MIGRATION,
    metadataOnly: true,
    signal,
  });
  const names = items.flatMap(({ metadata }) => {
    const extension = metadata.labels?.[LABEL_MIGRATION] ?? "";
    return metadata.name === getBackupRef(extension, metadata.namespace ?? "").name ? [extension] : [];
  });
  const found: ConversionRemains[] = [];
  for (const name of names.sort()) {
    const remains = await findRemains(client, name, namespace, signal);
    if (remains) found.push(remains);
  }
  return found;
}
