import type { PreparedRequest } from "../../consoleapi/actions.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { isObject } from "../../golang/members.ts";
import type { Client } from "../../kube/client.ts";
import { isConflict, isDryRunUnsupported, isNotFound, KubeError } from "../../kube/errors.ts";
import { redactSecrets } from "../../text/redact.ts";
import { truncate } from "../../text/truncate.ts";
import { type ClusterRequest, sendClusterRequest } from "./clusterRequest.ts";

type DryRun = NonNullable<PreparedRequest["dryRun"]>;

const MAX_MESSAGE = 2_000;

/**
 * Tries requests in order with dry runs. The dry run of a request cannot see what earlier requests create, so a missing object does not count as a
 * failure after one.
 */
export async function tryRequests(
  client: Pick<Client, "request">,
  requests: readonly ClusterRequest[],
  signal: AbortSignal,
): Promise<PreparedRequest[]> {
  const tried: PreparedRequest[] = [];
  let hasCreated = false;
  for (const request of requests) {
    const dryRun = await tryRequest(client, request, { hasCreated, signal });
    tried.push({ ...toPrepared(request), ...(dryRun ? { dryRun } : {}) });
    hasCreated ||= request.isNew;
  }
  return tried;
}

/** Returns the description of a request for the page. */
export function toPrepared({ method, path, contentType, body, description }: ClusterRequest): PreparedRequest {
  return { method, path, contentType, body, description };
}

async function tryRequest(
  client: Pick<Client, "request">,
  request: ClusterRequest,
  { hasCreated, signal }: { readonly hasCreated: boolean; readonly signal: AbortSignal },
): Promise<DryRun | undefined> {
  try {
    const { warnings } = await sendClusterRequest(client, request, { dryRun: true, signal });
    return { isOk: true, message: "The API server accepts the request.", warnings: [...warnings] };
  } catch (err) {
    signal.throwIfAborted();
    if (!(err instanceof KubeError)) throw err;
    if (hasCreated && isNotFound(err)) return undefined;
    if (isDryRunUnsupported(err)) return undefined;
    return { isOk: false, message: explainRejection(err), warnings: [], ...(hasFieldConflict(err) ? { hasFieldConflict: true } : {}) };
  }
}

/** Explains why the API server rejects a request. */
export function explainRejection(err: unknown): string {
  const text = truncate(redactSecrets(getErrorMessage(err)), MAX_MESSAGE);
  return hasFieldConflict(err) ? `${text}. Other tools manage these fields.` : text;
}

/** Whether server-side apply would change a field of another field manager. */
function hasFieldConflict(err: unknown): boolean {
  const causes = isConflict(err) ? err.details?.["causes"] : undefined;
  return Array.isArray(causes) && causes.some((cause: unknown) => isObject(cause) && cause["reason"] === "FieldManagerConflict");
}
