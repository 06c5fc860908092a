import { type KubeObject, toObjectRef } from "../api/k8s.ts";
import type { Client } from "../kube/client.ts";
import { isConflict, isNotFound } from "../kube/errors.ts";

/**
 * Replaces the finalizers of an object if it has not changed since it was read.
 * @param finalizers the complete new list
 * @returns `changed` if the object has changed, which is not an error: reconcile it again; `gone` if it no longer exists.
 * @throws KubeError
 */
export async function writeFinalizers(
  client: Pick<Client, "patch">,
  object: Readonly<KubeObject>,
  finalizers: readonly string[],
  signal: AbortSignal,
): Promise<"written" | "changed" | "gone"> {
  const { uid, resourceVersion } = object.metadata;
  try {
    await client.patch(toObjectRef(object), { metadata: { uid, resourceVersion, finalizers } }, { type: "merge", signal });
    return "written";
  } catch (err) {
    if (isConflict(err)) return "changed";
    if (isNotFound(err)) return "gone";
    throw err;
  }
}
