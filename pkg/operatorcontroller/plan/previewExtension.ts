import { ClusterExtension } from "../../api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../api/constants.ts";
import { getErrorMessage, wrapError } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden } from "../../kube/errors.ts";

/** An extension as it would be after applying a file. */
export interface ExtensionPreview {
  /** Has the uid and status of the existing extension, if it exists. */
  extension: ClusterExtension;
  exists: boolean;
  notes: string[];
}

/**
 * Previews an extension after applying `given`, with a dry run: the API server validates it and sets defaults, and writes nothing.
 * @throws Error with the reason why the API server would reject it.
 */
export async function previewExtension(client: Client, given: ClusterExtension): Promise<ExtensionPreview> {
  const { name } = given.metadata;
  const ref = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name };
  const existing = await client.get<ClusterExtension>(ref);
  if (existing?.metadata.deletionTimestamp !== undefined) throw new Error(`ClusterExtension ${goQuote(name)} is being deleted`);
  const { uid: _, resourceVersion: __, ...metadata } = existing?.metadata ?? { name };
  const annotations = { ...metadata.annotations, ...given.metadata.annotations };
  const named = { ...metadata, annotations, ...(existing?.metadata.uid === undefined ? {} : { uid: existing.metadata.uid }) };
  const exists = existing !== undefined;
  const state = existing?.status ? { status: existing.status } : {};
  try {
    const response = existing
      ? await client.patch<ClusterExtension>(ref, [{ op: "add", path: "/spec", value: given.spec }], { type: "json", dryRun: true })
      : await client.create(given, { dryRun: true });
    return { extension: { ...given, ...state, metadata: named, spec: response.spec }, exists, notes: [] };
  } catch (err) {
    if (!isForbidden(err)) throw wrapError(`ClusterExtension ${goQuote(name)} would be rejected: `, err);
    const { success, error } = ClusterExtension.safeParse(given);
    if (!success) throw new Error(`ClusterExtension ${goQuote(name)} would be rejected: ${error.message}`, { cause: err });
    const notes = [`you have no permission to apply the ClusterExtension (${getErrorMessage(err)}); the plan uses the spec from the file`];
    return { extension: { ...given, ...state, metadata: named }, exists, notes };
  }
}
