import type { ActionRequest } from "../../consoleapi/actions.ts";
import type { ServedFields } from "../../kube/servedFields.ts";
import { ConsoleError } from "../http/consoleError.ts";

type ActionName = ActionRequest["action"];

/** The field without which the controller ignores an action: the one that the action writes, or that reports an annotation as handled. */
const NEEDED_FIELDS: Readonly<Partial<Record<ActionName, string>>> = {
  approvePlan: "status.plan",
  rollBack: "status.lastHandledReconcileAt",
  removePin: "status.lastHandledReconcileAt",
  reconcile: "status.lastHandledReconcileAt",
  suspend: "spec.suspend",
  resume: "spec.suspend",
  setDriftPolicy: "spec.drift",
};

/** Whether the OLM of the cluster can carry out an action. @param fields undefined if they are unknown: then it can */
export function supportsAction(fields: ServedFields | undefined, action: ActionName): boolean {
  const needed = NEEDED_FIELDS[action];
  return needed === undefined || fields === undefined || fields.all.has(needed);
}

/** @throws ConsoleError invalid if the OLM of the cluster cannot carry out a request */
export function requireSupported(fields: ServedFields | undefined, request: ActionRequest): void {
  const { action } = request;
  const needed = action === "uninstall" && request.crdPolicy !== undefined ? "spec.uninstall" : NEEDED_FIELDS[action];
  if (needed === undefined || fields === undefined || fields.all.has(needed)) return;
  throw new ConsoleError("invalid", `the OLM of this cluster does not support the change: its ClusterExtensions have no field ${needed}`);
}
