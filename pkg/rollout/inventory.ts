import type { ClusterExtension } from "../api/clusterExtension.ts";
import type { Inventory } from "../api/clusterExtensionStatus.ts";
import { type ObjectRef, toObjectRef } from "../api/k8s.ts";
import { mapInParallel } from "../async/concurrency.ts";
import { getErrorMessage } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { ReadOnlyReleases } from "../operatorcontroller/releases/readOnlyReleases.ts";
import { computeHealth, hasHealth, mayHaveHealth } from "../release/health/health.ts";
import type { HealthState } from "../release/health/healthState.ts";
import { findLastDeployed } from "../release/record.ts";
import { formatUnreadable } from "../release/storage/decode.ts";

/** Number of concurrent requests. */
const PARALLEL = 8;

/** Returns the object reference of an entry in status.inventory. */
export function parseInventoryRef({ group, version, kind, namespace, name }: Inventory["objects"][number]): ObjectRef {
  return { apiVersion: group ? `${group}/${version}` : version, kind, name, ...(namespace ? { namespace } : {}) };
}

/** The objects of the installed bundle of an extension. */
export interface InstalledObjects {
  /** In apply order; not all of them if the status of a large bundle omits some. */
  readonly refs: readonly ObjectRef[];
  readonly count: number;
  /** Why the objects are unknown; undefined if they are known. */
  readonly unknown?: string;
}

/**
 * Returns the objects of the installed bundle: those in status.inventory. The Go implementation reports none, so they are those of its last deployed
 * release, which the user may not be allowed to read.
 * @param systemNamespace the namespace of the release Secrets
 */
export async function readInstalledObjects(
  client: Client,
  extension: ClusterExtension,
  systemNamespace: string,
): Promise<InstalledObjects> {
  const { inventory, install } = extension.status ?? {};
  if (inventory) return { refs: inventory.objects.map(parseInventoryRef), count: inventory.count };
  if (!install) return { refs: [], count: 0 };
  try {
    const { current, unreadable } = await new ReadOnlyReleases(client, systemNamespace).history(extension);
    const release = findLastDeployed(current);
    if (release) return { refs: release.objects.map(toObjectRef), count: release.objects.length };
    const [damaged] = unreadable;
    const unknown = damaged ? formatUnreadable(damaged) : `namespace ${systemNamespace} contains no release of the installed bundle`;
    return { refs: [], count: 0, unknown };
  } catch (err) {
    return { refs: [], count: 0, unknown: getErrorMessage(err) };
  }
}

/** An installed object and its health. */
export interface InventoryObjectHealth {
  readonly ref: ObjectRef;
  /** `unknown` also if the user cannot read the object. */
  readonly state: HealthState;
  readonly message: string;
}

/**
 * Returns the health of the objects that have a health check, in their order, read with the user's permissions.
 * @param now milliseconds since the epoch.
 */
export async function readInventoryHealth(
  client: Pick<Client, "get">,
  refs: readonly ObjectRef[],
  now: number,
): Promise<InventoryObjectHealth[]> {
  const states = await mapInParallel(refs.filter(mayHaveHealth), PARALLEL, (ref) => readObjectHealth(client, ref, now));
  return states.filter((state) => state !== undefined);
}

async function readObjectHealth(client: Pick<Client, "get">, ref: ObjectRef, now: number): Promise<InventoryObjectHealth | undefined> {
  try {
    const object = await client.get(ref);
    if (!object) return { ref, state: "failed", message: "it does not exist" };
    if (!hasHealth(object)) return undefined;
    const { state, message } = computeHealth(object, now);
    return { ref, state, message };
  } catch (err) {
    return { ref, state: "unknown", message: getErrorMessage(err) };
  }
}
