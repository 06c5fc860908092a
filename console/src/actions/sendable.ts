import type { PreparedAction } from "../../../pkg/consoleapi/actions.ts";
import { RequestError } from "../api/request.ts";
import type { ActionState } from "./useAction.ts";

/** Whether the API server tried the requests of a change. It does not if the user lacks a permission, or if the console rejects the change. */
export function isTried({ rejected, missing }: Pick<PreparedAction, "rejected" | "missing">): boolean {
  return rejected === undefined && missing === undefined;
}

/** Whether a confirmation may send the change: nothing rejects it, no dry run failed, and it was not sent with a known result. */
export function isSendable(state: ActionState): boolean {
  if (!("prepared" in state) || state.step === "sent") return false;
  const { id, requests } = state.prepared;
  const isAccepted = id !== "" && requests.every(({ dryRun }) => dryRun?.isOk !== false);
  return isAccepted && (state.step !== "failed" || isOutcomeUnknown(state.error));
}

/** Whether the page does not know if the server received the request. The same key makes a repetition safe. */
function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof RequestError && error.problem.kind === "disconnected";
}
