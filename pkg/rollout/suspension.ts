import type { ClusterExtension } from "../api/clusterExtension.ts";
import { findCondition } from "../api/conditions.ts";
import { CLUSTER_EXTENSION, ConditionType, Reason } from "../api/constants.ts";
import { type PollLimit, waitFor } from "../async/poll.ts";
import { goQuote } from "../golang/quote.ts";
import type { Client } from "../kube/client.ts";
import { readPatiently } from "../kube/patientRead.ts";
import { buildExtensionRef } from "./extensions.ts";

/**
 * Waits until operator-controller has suspended an extension: a reconcile in progress can still write objects. Also returns if the extension is
 * deleted or being deleted. Continues after temporary failures of the API server.
 * @param suspended the extension with spec.suspend, as the API server returned it
 * @throws WaitTimeoutError with the message of operator-controller; errors of the API server
 */
export async function waitUntilSuspended(client: Pick<Client, "get">, { metadata }: ClusterExtension, limit: PollLimit): Promise<void> {
  const { name, generation = 0 } = metadata;
  const deadline = Date.now() + limit.timeoutMs;
  await waitFor({ ...limit, what: `${CLUSTER_EXTENSION} ${goQuote(name)} to be suspended` }, async () => {
    const how = { signal: limit.signal, isLate: Date.now() >= deadline };
    const found = await readPatiently<ClusterExtension>(client, buildExtensionRef(name), how);
    if (found === "later") return { reason: "the API server does not respond" };
    if (!found || found.metadata.deletionTimestamp !== undefined) return { done: true };
    const { reason, observedGeneration = 0, message } = findCondition(found.status?.conditions, ConditionType.Progressing) ?? {};
    if (reason === Reason.Suspended && observedGeneration >= generation) return { done: true };
    return { reason: message ?? "operator-controller has not reconciled the ClusterExtension" };
  });
}
