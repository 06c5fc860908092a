import type { ActionResult } from "../../consoleapi/actions.ts";
import type { Client } from "../../kube/client.ts";
import { isConflict, isForbidden, KubeError } from "../../kube/errors.ts";
import { ConsoleError } from "../http/consoleError.ts";
import { sendClusterRequest } from "./clusterRequest.ts";
import { type PlannedChange, RELOAD, type SeenObject } from "./plannedChange.ts";
import { explainRejection } from "./tryRequests.ts";

/**
 * Sends the requests of a change in order, with exactly their bytes. Stops at the first failure. If nothing has changed, throws in place of a result.
 * @throws ConsoleError conflict if the object changed after the user saw it; KubeError if the API server rejects the first request
 */
export async function runChange(client: Pick<Client, "get" | "request">, change: PlannedChange): Promise<ActionResult> {
  if (change.seen) await requireUnchanged(client, change.seen);
  const results: ActionResult["results"] = [];
  for (const request of change.requests) {
    const { description } = request;
    try {
      const { isUnchanged } = await sendClusterRequest(client, request);
      results.push({ description, isOk: true, message: isUnchanged ? "unchanged" : "done" });
    } catch (err) {
      if (results.length === 0) throw explainFailure(err);
      results.push({ description, isOk: false, message: explainRejection(err) });
      return { isOk: false, results };
    }
  }
  return { isOk: true, results };
}

/** @throws ConsoleError conflict if the spec changed, or if the object was deleted or recreated */
async function requireUnchanged(client: Pick<Client, "get">, { ref, uid, generation }: SeenObject): Promise<void> {
  const live = await client.get(ref, { metadataOnly: true }).catch((err: unknown) => {
    if (isForbidden(err)) return "unknown" as const; // the uid in the request is checked by the API server
    throw err;
  });
  if (live === "unknown") return;
  if (live?.metadata.uid === uid && live?.metadata.generation === generation) return;
  const what = live === undefined || live.metadata.uid !== uid ? "was deleted" : "was changed";
  throw new ConsoleError("conflict", `${ref.kind} ${ref.name} ${what} after the dialog was opened; nothing was sent`, { next: RELOAD });
}

function explainFailure(cause: unknown): unknown {
  if (isConflict(cause)) return new ConsoleError("conflict", explainRejection(cause), { cause, next: RELOAD });
  if (cause instanceof KubeError) return cause;
  return new ConsoleError("failed", "the API server did not respond, so it is unknown whether the change was made", {
    cause,
    next: "Reload the page to see the current state before you try again.",
  });
}
