import { ClusterExtension } from "../../api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../api/constants.ts";
import { messageOf, wrapError } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden } from "../../kube/errors.ts";

/** An extension as it would be once a file is applied, and what is on the cluster now. */
export interface WantedExtension {
  /** With the uid of the one that exists; without uid where there is none. */
  extension: ClusterExtension;
  exists: boolean;
  notes: string[];
}

/**
 * What applying `given` would make of it: the API server fills in defaults and checks it, and writes nothing.
 * @throws Error that says why the API server would not take it.
 */
export async function wantedExtension(client: Client, given: ClusterExtension): Promise<WantedExtension> {
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
    const answer = existing
      ? await client.patch<ClusterExtension>(ref, [{ op: "add", path: "/spec", value: given.spec }], { type: "json", dryRun: true })
      : await client.create(given, { dryRun: true });
    return { extension: { ...given, ...state, metadata: named, spec: answer.spec }, exists, notes: [] };
  } catch (err) {
    if (!isForbidden(err)) throw wrapError(`ClusterExtension ${goQuote(name)} would be refused: `, err);
    const { success, error } = ClusterExtension.safeParse(given);
    if (!success) throw new Error(`ClusterExtension ${goQuote(name)} would be refused: ${error.message}`, { cause: err });
    const notes = [`you may not apply the ClusterExtension yourself (${messageOf(err)}): its spec is taken as the file has it`];
    return { extension: { ...given, ...state, metadata: named }, exists, notes };
  }
}
