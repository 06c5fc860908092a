import type { ExtensionPermissions, JudgedRuleStatus } from "../../api/extensionPermissions.ts";
import { findRiskClass } from "../../permissions/riskClasses.ts";
import { buildPermissionsApproval, checkPermissionsApproval, hasApproval } from "../../rollout/changes.ts";
import { buildPermissionsRef } from "../../rollout/extensions.ts";
import { formatCount } from "../../text/lists.ts";
import { ConsoleError } from "../http/consoleError.ts";
import { buildPatchRequest } from "./clusterRequest.ts";
import { type ChangeContext, type PlannedChange, RELOAD } from "./plannedChange.ts";

/** Plans the approval of the rules that the user saw. */
export async function planPermissionsApproval(
  { client, signal }: ChangeContext,
  { extension: name, digest }: { readonly extension: string; readonly digest: string },
): Promise<PlannedChange> {
  const permissions = await requirePermissions(client, name, signal);
  const approval = checkPermissionsApproval(permissions, digest);
  if (approval.kind !== "waiting") throw new ConsoleError("conflict", approval.message, { next: RELOAD });
  const pending = permissions.status?.pending ?? [];
  const account = permissions.status?.serviceAccount;
  return {
    title: `Approve the permissions of ${name}?`,
    effects: [
      `permission-manager grants ${formatCount(pending.length, "rule")} to ${account === undefined ? "the ServiceAccount" : `ServiceAccount ${account}`} of ${name}.`,
      ...describeRisks(pending),
      "The approval is only valid for these rules. Other rules wait for approval again.",
    ],
    isDanger: pending.some(({ risk }) => findRiskClass(risk)?.level === "RootEquivalent"),
    command: `olmv1 permissions approve ${name} --digest ${digest}`,
    requests: [await buildPatchRequest(client, buildPermissionsApproval(permissions, digest), permissions)],
  };
}

/** Returns one sentence for each risk class of the rules. */
function describeRisks(pending: readonly JudgedRuleStatus[]): string[] {
  return [...Map.groupBy(pending, ({ risk }) => risk)].flatMap(([name, rules]) => {
    const found = findRiskClass(name);
    return found ? [`${formatCount(rules.length, "rule")} of risk class ${found.name}: a holder ${found.reason}.`] : [];
  });
}

/** Plans the removal of the approval. */
export async function planRevocation(
  { client, signal }: ChangeContext,
  { extension: name }: { readonly extension: string },
): Promise<PlannedChange> {
  const permissions = await requirePermissions(client, name, signal);
  return {
    title: `Revoke the approved permissions of ${name}?`,
    effects: [
      `ServiceAccount ${permissions.status?.serviceAccount ?? ""} loses the permissions that the policy does not grant without an approval.`,
      "operator-controller can then no longer change the extension. The operator keeps its own permissions.",
      "Approve the permissions again before you uninstall the extension.",
    ],
    isDanger: true,
    command: `olmv1 permissions revoke ${name}`,
    requests: [await buildPatchRequest(client, buildPermissionsApproval(permissions, null), permissions)],
    ...(hasApproval(permissions) ? {} : { rejected: `No permissions of ${name} are approved.` }),
  };
}

async function requirePermissions(client: ChangeContext["client"], name: string, signal: AbortSignal): Promise<ExtensionPermissions> {
  const found = await client.get<ExtensionPermissions>(buildPermissionsRef(name), { signal });
  if (found) return found;
  throw new ConsoleError("notFound", `ExtensionPermissions "${name}" does not exist`, {
    next: "The extension uses a ServiceAccount of its own, whose permissions you grant.",
  });
}
