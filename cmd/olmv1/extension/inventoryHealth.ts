import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import type { ObjectRef } from "../../../pkg/api/k8s.ts";
import { mapInParallel } from "../../../pkg/async/concurrency.ts";
import { messageOf } from "../../../pkg/errors/errors.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { hasHealth, healthOf, mayHaveHealth } from "../../../pkg/release/health/health.ts";
import type { HealthState } from "../../../pkg/release/health/healthState.ts";
import { refFrom } from "../tree/extensionTree.ts";

/** An installed object and how it is. */
export interface ObjectState {
  readonly ref: ObjectRef;
  /** `unknown` also where the user may not read it. */
  readonly state: HealthState;
  readonly message: string;
}

/** Requests under way at once. */
const PARALLEL = 8;

/**
 * The objects of an extension that have a health, in the order in which they were applied, read with the user's rights.
 * @param now milliseconds since the epoch.
 */
export async function inventoryHealth(client: Pick<Client, "get">, { status }: ClusterExtension, now: number): Promise<ObjectState[]> {
  const refs = (status?.inventory?.objects ?? []).map(refFrom).filter(mayHaveHealth);
  const states = await mapInParallel(refs, PARALLEL, (ref) => stateOf(client, ref, now));
  return states.filter((state) => state !== undefined);
}

async function stateOf(client: Pick<Client, "get">, ref: ObjectRef, now: number): Promise<ObjectState | undefined> {
  try {
    const object = await client.get(ref);
    if (!object) return { ref, state: "failed", message: "it does not exist" };
    if (!hasHealth(object)) return undefined;
    const { state, message } = healthOf(object, now);
    return { ref, state, message };
  } catch (err) {
    return { ref, state: "unknown", message: messageOf(err) };
  }
}
