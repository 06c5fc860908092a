import type { ClusterExtension } from "../api/clusterExtension.ts";
import type { Client } from "../kube/client.ts";
import { isConflict, isNotFound } from "../kube/errors.ts";

/** How soon to look again at an extension that changed while it was looked at. */
export const CHANGED_MS = 20;

/**
 * Replaces the finalizers of an extension, if it is still as it was read.
 * @returns `changed` when it is not, which is no error: it has to be looked at again; `gone` when it does not exist any more.
 */
export async function writeFinalizers(
  client: Pick<Client, "patch">,
  extension: Readonly<ClusterExtension>,
  finalizers: readonly string[],
  signal: AbortSignal,
): Promise<"written" | "changed" | "gone"> {
  const { apiVersion, kind, metadata } = extension;
  const body = { metadata: { uid: metadata.uid, resourceVersion: metadata.resourceVersion, finalizers } };
  try {
    await client.patch({ apiVersion, kind, name: metadata.name }, body, { type: "merge", signal });
    return "written";
  } catch (err) {
    if (isConflict(err)) return "changed";
    if (isNotFound(err)) return "gone";
    throw err;
  }
}
