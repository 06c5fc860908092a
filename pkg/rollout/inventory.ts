import type { ClusterExtension } from "../api/clusterExtension.ts";
import type { Inventory } from "../api/clusterExtensionStatus.ts";
import type { ObjectRef } from "../api/k8s.ts";
import { mapInParallel } from "../async/concurrency.ts";
import { getErrorMessage } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { computeHealth, hasHealth, mayHaveHealth } from "../release/health/health.ts";
import type { HealthState } from "../release/health/healthState.ts";

/** Number of concurrent requests. */
const PARALLEL = 8;

/** Returns the object reference of an entry in status.inventory. */
export function parseInventoryRef({ group, version, kind, namespace, name }: Inventory["objects"][number]): ObjectRef {
  return { apiVersion: group ? `${group}/${version}` : version, kind, name, ...(namespace ? { namespace } : {}) };
}

/** An installed object and its health. */
export interface InventoryObjectHealth {
  readonly ref: ObjectRef;
  /** `unknown` also if the user cannot read the object. */
  readonly state: HealthState;
  readonly message: string;
}

/**
 * Returns the health of the objects in the inventory that have a health check, in apply order, read with the user's permissions.
 * @param now milliseconds since the epoch.
 */
export async function readInventoryHealth(
  client: Pick<Client, "get">,
  { status }: ClusterExtension,
  now: number,
): Promise<InventoryObjectHealth[]> {
  const refs = (status?.inventory?.objects ?? []).map(parseInventoryRef).filter(mayHaveHealth);
  const states = await mapInParallel(refs, PARALLEL, (ref) => readObjectHealth(client, ref, now));
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
