import { type ClusterExtension, getNamespace } from "../../api/clusterExtension.ts";
import type { ExtensionPermissions, JudgedRuleStatus } from "../../api/extensionPermissions.ts";
import { findProblem } from "../../api/problems.ts";
import type { ExtensionPermissionsView, ManagedPermissionsView, OwnPermissions } from "../../consoleapi/permissions.ts";
import { rulesFromDetails } from "../../operatorcontroller/permissions/permissions.ts";
import { getAccountName } from "../../permissions/grantObjects.ts";
import { checkPermissionsApproval, hasApproval } from "../../rollout/changes.ts";
import { hasForeignStatus, NOT_REPORTED } from "../../rollout/extensionState.ts";
import {
  describeApproval,
  describePermissionsState,
  judgeGranted,
  listPendingRules,
  type PermissionsView,
} from "../../rollout/permissionsView.ts";
import { listRisks, placeRules, placeStatusRules } from "../../rollout/placedRules.ts";
import { parseSuggestedStep } from "../../rollout/suggestedStep.ts";
import { toSentence } from "../../text/sentence.ts";
import { buildRuleList, type ShownRule, toRuleRisk, toShownRules, withRisk } from "./ruleRows.ts";

const NOT_REQUESTED = "operator-controller has not requested permissions for the extension yet.";
const CONTROLLER_PERMISSIONS =
  "The extension has no ServiceAccount: the OLM of this cluster installs it with the controller's own permissions.";

/** Describes the permissions of an extension. @param view undefined if permission-manager does not manage them */
export function buildPermissionsView(
  extension: ClusterExtension,
  view: PermissionsView | undefined,
  systemNamespace: string,
): ExtensionPermissionsView {
  const namespace = getNamespace(extension);
  const named = view?.permissions.status?.serviceAccount ?? extension.spec.serviceAccount?.name;
  const account = named === undefined ? (view ? getAccountName(extension) : undefined) : named;
  return {
    ...(account ? { account: `${view?.permissions.status?.namespace ?? namespace}/${account}` } : {}),
    ...(view ? { managed: buildManaged(view, systemNamespace) } : {}),
    ...(!view && named ? { own: buildOwn(extension) } : {}),
    ...(view || named ? {} : { note: hasForeignStatus(extension) ? CONTROLLER_PERMISSIONS : NOT_REQUESTED }),
  };
}

function buildManaged(view: PermissionsView, systemNamespace: string): ManagedPermissionsView {
  const { permissions, rules } = view;
  const { metadata, spec, status = {} } = permissions;
  const { name } = metadata;
  const { conditions, policy, access, bundle, history = [], denied = [], pending = [] } = status;
  const granted = judgeGranted(view, systemNamespace);
  const message = conditions?.[0]?.message;
  const requested = spec?.bundle;
  const approval = describeApproval(permissions);
  const { text, mood } = describePermissionsState(status);
  return {
    state: mood === undefined ? { text } : { text, mood },
    ...(message === undefined ? {} : { message: toSentence(message) }),
    ...(policy === undefined ? {} : { policy }),
    ...(access === "ReadOnly" ? { access: "The ServiceAccount has write permissions only while the controller changes something." } : {}),
    ...(bundle ? { bundle: `${bundle.name} (version ${bundle.version})` } : {}),
    ...(requested && requested.name !== bundle?.name ? { requested: `${requested.name} (version ${requested.version})` } : {}),
    ...(approval === undefined ? {} : { approval }),
    granted: buildRuleList(toShownRules(granted)),
    pending: buildRuleList(
      listPendingRules(permissions, rules).map((rule, i) => ({
        ...withStatusRisk(rule, pending[i]),
        ...(rule.isHeld ? { note: "The extension has it now." } : {}),
      })),
      true,
    ),
    denied: buildRuleList(placeStatusRules(denied).map((rule, i) => withStatusRisk(rule, denied[i]))),
    risks: listRisks(granted).map(toRuleRisk),
    history: history.map(({ time, reason, bundle: by, added, removed }) => ({
      time,
      reason,
      ...(by ? { bundle: by } : {}),
      added,
      removed,
    })),
    ...describeOffer(permissions),
    ...(hasApproval(permissions) ? { revoke: offerRevocation(name) } : {}),
    command: `olmv1 permissions show ${name}`,
  };
}

/** The reason in a status repeats what the risk class means, so it is only shown without a risk class. */
function withStatusRisk(rule: ShownRule, status: JudgedRuleStatus | undefined): ShownRule {
  const shown = withRisk(rule, status?.risk);
  const { note: _, ...others } = shown;
  return shown.risk ? others : shown;
}

/** Offers the approval if the status lists all rules that wait. Otherwise users would approve rules that the page does not show. */
function describeOffer(permissions: ExtensionPermissions): Pick<ManagedPermissionsView, "approve" | "approvalNote"> {
  const check = checkPermissionsApproval(permissions);
  if (check.kind === "waiting") return { approve: offerApproval(permissions.metadata.name, check.digest) };
  return check.kind === "incomplete" ? { approvalNote: toSentence(check.message) } : {};
}

function offerApproval(extension: string, digest: string): NonNullable<ManagedPermissionsView["approve"]> {
  return {
    label: "Approve these permissions",
    meaning: "permission-manager grants exactly these rules. Other rules wait for approval again.",
    request: { action: "approvePermissions", extension, digest },
  };
}

function offerRevocation(extension: string): NonNullable<ManagedPermissionsView["revoke"]> {
  return {
    label: "Revoke the approval",
    meaning: "The extension loses the rules that the policy does not grant without an approval.",
    request: { action: "revokePermissions", extension },
  };
}

/** Describes a ServiceAccount of the user: the controller reports which permissions it lacks. */
function buildOwn({ status }: Pick<ClusterExtension, "status">): OwnPermissions {
  if (hasForeignStatus({ status })) return { note: `Missing permissions are ${NOT_REPORTED}, except in the messages of conditions.` };
  const problem = findProblem(status, "MissingPermissions");
  if (!problem) return {};
  const { permissions = [] } = problem.details ?? {};
  return {
    missing: buildRuleList(placeRules(rulesFromDetails(permissions))),
    ...(problem.next === undefined ? {} : { grant: parseSuggestedStep(problem.next) }),
  };
}
