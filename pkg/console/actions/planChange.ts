import { GROUP } from "../../api/constants.ts";
import type { ActionRequest, PreparedAction } from "../../consoleapi/actions.ts";
import type { NeededPermission } from "../cluster/accessChecks.ts";
import { planApply } from "./applyChange.ts";
import { planApproval, planDriftPolicy, planReconcile, planSourceChange, planSuspension, planUnpin } from "./extensionChanges.ts";
import { planPermissionsApproval, planRevocation } from "./permissionChanges.ts";
import type { ChangeContext, PlannedChange } from "./plannedChange.ts";
import { planRollback } from "./rollbackChange.ts";
import { planRemoval, planUninstall } from "./uninstallChange.ts";

/** Turns an action into requests to the API server. Reads the cluster; writes nothing. @throws ConsoleError if the action is not possible now */
export function planChange(context: ChangeContext, request: ActionRequest): Promise<PlannedChange> {
  switch (request.action) {
    case "approvePlan":
      return planApproval(context, request);
    case "rollBack":
      return planRollback(context, request);
    case "removePin":
      return planUnpin(context, request);
    case "approvePermissions":
      return planPermissionsApproval(context, request);
    case "revokePermissions":
      return planRevocation(context, request);
    case "suspend":
      return planSuspension(context, request.extension, true);
    case "resume":
      return planSuspension(context, request.extension, false);
    case "reconcile":
      return planReconcile(context, request);
    case "changeSource":
      return planSourceChange(context, request);
    case "setDriftPolicy":
      return planDriftPolicy(context, request);
    case "uninstall":
      return planUninstall(context, request);
    case "removeCreated":
      return planRemoval(context, request.extension);
    case "apply":
      break;
  }
  return planApply(context, request);
}

type ActionName = ActionRequest["action"];

const RESOURCES: Partial<Record<ActionName, { readonly verb: string; readonly resource: string }>> = {
  approvePermissions: { verb: "patch", resource: "extensionpermissions" },
  revokePermissions: { verb: "patch", resource: "extensionpermissions" },
  uninstall: { verb: "delete", resource: "clusterextensions" },
};
/** Actions whose requests are only known with their details. */
const UNKNOWN: ReadonlySet<string> = new Set<ActionName>(["apply", "removeCreated"]);

/** Returns the permissions that an action needs at least. */
export function listNeededPermissions(action: string, extension: string | undefined): NeededPermission[] {
  if (UNKNOWN.has(action)) return [];
  const { verb, resource } = RESOURCES[action as ActionName] ?? { verb: "patch", resource: "clusterextensions" };
  return [{ verb, group: GROUP, resource, ...(extension === undefined ? {} : { name: extension }) }];
}

/** Returns the change that the user may make instead if fields of other tools block an apply. */
export function offerForce(request: ActionRequest): PreparedAction["alternative"] {
  if (request.action !== "apply" || request.force) return undefined;
  return {
    label: "Take over these fields",
    meaning: "Overwrites the fields in the YAML, and makes the console their manager. A tool that still manages them may change them back.",
    request: { ...request, force: true },
  };
}
