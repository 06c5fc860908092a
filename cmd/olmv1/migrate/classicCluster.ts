import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../../pkg/api/constants.ts";
import type { KubeObject, ObjectRef } from "../../../pkg/api/k8s.ts";
import type { KnownExtension } from "../../../pkg/migrate/eligibilityInput.ts";
import { isCopiedCsv } from "../../../pkg/migrate/clusterServiceVersion.ts";
import { objectAt, objectsAt, textAt } from "../../../pkg/migrate/objectFields.ts";
import { ANNOTATION_MIGRATED_FROM, ANNOTATION_STEP, CLASSIC_GROUP } from "../../../pkg/api/migration.ts";
import { SUBSCRIPTION_VERSIONS, type Subscription } from "../../../pkg/migrate/subscription.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { isNotFound, KindNotServed } from "../../../pkg/kube/errors.ts";

/** Objects of OLM classic and of this one on a cluster. */
export interface ClassicCluster {
  readonly subscriptions: readonly KubeObject[];
  /** Originals; the copies in other namespaces are left out. */
  readonly csvs: readonly KubeObject[];
  readonly groups: readonly KubeObject[];
  readonly sources: readonly KubeObject[];
  readonly extensions: readonly ClusterExtension[];
}

export const CSV = { apiVersion: `${CLASSIC_GROUP}/v1alpha1`, kind: "ClusterServiceVersion" } as const;
const EXTENSION = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION } as const;
const GROUPS = ["v1", "v1alpha2"];
const CONDITIONS = ["v2", "v1"];

/**
 * Reads what a migration is decided by.
 * @throws Error where the cluster has no OLM classic, or one kind may not be listed.
 */
export async function readClassicCluster(client: Client, signal: AbortSignal): Promise<ClassicCluster> {
  const subscriptions = await listAny(client, "Subscription", SUBSCRIPTION_VERSIONS, signal);
  const csvs = await listOrNone(client, { ...CSV }, { labelSelector: "!olm.copiedFrom", signal });
  const groups = (await listAny(client, "OperatorGroup", GROUPS, signal)) ?? [];
  const sources = (await listAny(client, "CatalogSource", SUBSCRIPTION_VERSIONS, signal)) ?? [];
  const { items: extensions } = await client.list<ClusterExtension>(EXTENSION, { signal });
  if (subscriptions === undefined && extensions.every((one) => one.metadata.annotations?.[ANNOTATION_MIGRATED_FROM] === undefined))
    throw new Error(`this cluster has no OLM classic: it does not serve Subscriptions of ${CLASSIC_GROUP}`);
  return { subscriptions: subscriptions ?? [], csvs: (csvs ?? []).filter((csv) => !isCopiedCsv(csv)), groups, sources, extensions };
}

/** A ClusterExtension as far as it counts for a migration. */
export function knownExtension({ metadata, spec }: ClusterExtension): KnownExtension {
  return {
    name: metadata.name,
    packageName: spec.source.catalog?.packageName ?? "",
    migratedFrom: metadata.annotations?.[ANNOTATION_MIGRATED_FROM],
    step: metadata.annotations?.[ANNOTATION_STEP],
  };
}

/** Whether an operator reports conditions to OLM classic. */
export async function reportsConditions(client: Client, { name, namespace }: { name: string; namespace: string }): Promise<boolean> {
  for (const version of CONDITIONS) {
    const ref: ObjectRef = { apiVersion: `${CLASSIC_GROUP}/${version}`, kind: "OperatorCondition", namespace, name };
    const found = await readOrNone(client, ref);
    if (!found) continue;
    return objectsAt(objectAt(found, "spec"), "conditions").length + objectsAt(objectAt(found, "status"), "conditions").length > 0;
  }
  return false;
}

/** The phase of a Subscription's InstallPlan; undefined where it names none, or that is gone. */
export async function planPhase(client: Client, { namespace, plan }: Subscription): Promise<string | undefined> {
  if (plan === undefined) return undefined;
  const ref: ObjectRef = { apiVersion: `${CLASSIC_GROUP}/v1alpha1`, kind: "InstallPlan", namespace, name: plan };
  const found = await readOrNone(client, ref);
  return found && textAt(objectAt(found, "status"), "phase");
}

/** One object; undefined where it, or its kind, is not there. */
export async function readOrNone<T extends KubeObject = KubeObject>(client: Pick<Client, "get">, ref: ObjectRef): Promise<T | undefined> {
  try {
    return await client.get<T>(ref);
  } catch (err) {
    if (isUnserved(err)) return undefined;
    throw err;
  }
}

/** All objects of a kind; undefined where it is not served. */
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

/** In the first of these versions that is served. */
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
