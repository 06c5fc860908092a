import type { ObjectRef } from "../../../pkg/api/k8s.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { isConflict } from "../../../pkg/kube/errors.ts";
import { describeObject } from "../../../pkg/release/identity.ts";
import { readOrNone } from "./classicCluster.ts";
import { waitFor } from "./patient.ts";

/** For OLM classic and the garbage collector to let an object go. */
const DELETION_MS = 60_000;

/**
 * Deletes an object of OLM classic without what belongs to it, and waits until it is gone.
 * @throws DidNotCome that names the finalizers which hold it.
 */
export async function deleteOrphaning(client: Client, ref: ObjectRef, signal: AbortSignal): Promise<void> {
  const live = await readOrNone(client, ref);
  if (!live) return;
  const { uid } = live.metadata;
  await client.delete(ref, { propagationPolicy: "Orphan", ...(uid === undefined ? {} : { uid }) }).catch((err: unknown) => {
    if (!isConflict(err)) throw err;
  });
  await waitFor({ timeoutMs: DELETION_MS, signal, what: `${describeObject(ref)} to be gone` }, async () => {
    const found = await readOrNone(client, ref);
    if (!found) return { done: true };
    const finalizers = found.metadata.finalizers ?? [];
    return {
      because:
        finalizers.length > 0
          ? `it is held by ${finalizers.join(", ")}, which OLM classic or the garbage collector takes off`
          : "it is there",
    };
  });
}
