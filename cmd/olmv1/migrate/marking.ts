import type { KubeObject, ObjectRef } from "../../../pkg/api/k8s.ts";
import { MIGRATION_FIELD_MANAGER } from "../../../pkg/api/migration.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { isConflict } from "../../../pkg/kube/errors.ts";
import { readOrNone } from "./classicCluster.ts";

const ATTEMPTS = 5;

/**
 * Patches a live object by what it is like at that moment; again where somebody wrote it in between.
 * @param patch with the object's resourceVersion; undefined where nothing is to be done.
 * @returns whether the object is there.
 */
export async function patchLive(client: Client, ref: ObjectRef, patch: (live: KubeObject) => unknown): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    const live = await readOrNone(client, ref);
    if (!live) return false;
    const body = patch(live);
    if (body === undefined) return true;
    try {
      await client.patch(ref, body, { type: "merge", fieldManager: MIGRATION_FIELD_MANAGER });
      return true;
    } catch (err) {
      if (attempt === ATTEMPTS || !isConflict(err)) throw err;
    }
  }
}
