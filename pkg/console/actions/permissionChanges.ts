import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { ExtensionPermissions, JudgedRuleStatus } from "../../api/extensionPermissions.ts";
import type { ActionChoice, ActionRequest } from "../../consoleapi/actions.ts";
import { isForbidden } from "../../kube/errors.ts";
import { findRiskClass } from "../../permissions/riskClasses.ts";
import { buildPermissionsApproval, checkPermissionsApproval, hasApproval, type WaitingPermissions } from "../../rollout/changes.ts";
import { listPlanPermissions } from "../../rollout/extensionPermissions.ts";
import { buildExtensionRef, buildPermissionsRef } from "../../rollout/extensions.ts";
import { formatRule, type PlacedRule, placeStatusRules } from "../../rollout/placedRules.ts";
import { formatCount, formatList } from "../../text/lists.ts";
import { ConsoleError } from "../http/consoleError.ts";
import { buildPatchRequest } from "./clusterRequest.ts";
import { type ChangeContext, type PlannedChange, RELOAD } from "./plannedChange.ts";

const NAMES_SHOWN = 5;

type ApprovalRequest = Extract<ActionRequest, { action: "approvePermissions" }>;

/** Plans the approval of the rules that the user saw, also for the dependencies that the user chose. */
export async function planPermissionsApproval({ client, signal }: ChangeContext, request: ApprovalRequest): Promise<PlannedChange> {
  const { extension: name, digest, dependencies = [] } = request;
  const permissions = requireWaiting(await requirePermissions(client, name, signal), digest);
  const others = await listWaitingDependencies(client, name);
  const chosen = dependencies.map((one) => {
    const found = others.find(({ metadata }) => metadata.name === one.extension);
    if (found) return requireWaiting(found, one.digest);
    throw new ConsoleError("conflict", `no permissions of dependency "${one.extension}" wait for approval`, { next: RELOAD });
  });
  const all = [...chosen, permissions];
  const pending = all.flatMap(({ status }) => status.pending ?? []);
  const names = formatList([name, ...chosen.map(({ metadata }) => metadata.name)], { max: NAMES_SHOWN });
  return {
    title: `Approve the permissions of ${names}?`,
    effects: [
      ...all.map(describeGrant).toReversed(),
      ...describeRisks(pending),
      "The approval is only valid for these rules. Other rules wait for approval again.",
    ],
    isDanger: pending.some(({ risk }) => findRiskClass(risk)?.level === "RootEquivalent"),
    command: `olmv1 permissions approve ${name} ${chosen.length > 0 ? "--with-dependencies" : `--digest ${digest}`}`,
    requests: await Promise.all(all.map((one) => buildPatchRequest(client, buildPermissionsApproval(one, one.status.pendingDigest), one))),
    ...(others.length > 0 ? { choice: offerDependencies(request, others) } : {}),
  };
}

/** @throws ConsoleError conflict unless the rules that the user saw wait for approval, and the page could show all of them */
function requireWaiting(permissions: ExtensionPermissions, digest: string): WaitingPermissions {
  const approval = checkPermissionsApproval(permissions, digest);
  if (approval.kind !== "waiting") throw new ConsoleError("conflict", approval.message, { next: RELOAD });
  const shown = checkPermissionsApproval(permissions);
  if (shown.kind !== "waiting") throw new ConsoleError("conflict", shown.message); // the message names the command
  return shown.permissions;
}

/**
 * Returns the permissions of other extensions in the dependency plan that wait for approval, by wave, if their status lists all rules. Those of later
 * waves are requested later. None if the user may not list them.
 */
async function listWaitingDependencies(client: ChangeContext["client"], name: string): Promise<WaitingPermissions[]> {
  try {
    const extension = await client.get<ClusterExtension>(buildExtensionRef(name));
    const found = extension?.status?.dependencyPlan ? await listPlanPermissions(client, extension) : [];
    return found.flatMap((permissions) => {
      const approval = checkPermissionsApproval(permissions);
      return permissions.metadata.name !== name && approval.kind === "waiting" ? [approval.permissions] : [];
    });
  } catch (err) {
    if (isForbidden(err)) return [];
    throw err;
  }
}

function describeGrant({ metadata: { name }, status: { pending = [], serviceAccount } }: WaitingPermissions): string {
  const account = serviceAccount === undefined ? "the ServiceAccount" : `ServiceAccount ${serviceAccount}`;
  return `permission-manager grants ${formatCount(pending.length, "rule")} to ${account} of ${name}.`;
}

/** Offers to approve the permissions of dependencies too, or no longer. */
function offerDependencies({ dependencies, ...own }: ApprovalRequest, others: readonly WaitingPermissions[]): ActionChoice {
  const isChosen = dependencies !== undefined && dependencies.length > 0;
  const seen = others.map(({ metadata, status }) => ({ extension: metadata.name, digest: status.pendingDigest }));
  return {
    label: `Also approve the permissions of its dependencies: ${formatList(
      seen.map(({ extension }) => extension),
      { max: NAMES_SHOWN },
    )}`,
    isChosen,
    items: others.map(({ metadata, status: { pending = [] } }) => ({
      extension: metadata.name,
      texts: placeStatusRules(pending).map(formatPlacedRule),
    })),
    request: isChosen ? own : { ...own, dependencies: seen },
  };
}

/** Returns the whole text, however long, so that the user approves nothing that the dialog does not show. */
function formatPlacedRule({ namespace, rule, note }: PlacedRule): string {
  const place = namespace === "" ? "" : ` in namespace ${namespace}`;
  return `${formatRule(rule, true)}${place}${note === undefined ? "" : ` (${note})`}`;
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
