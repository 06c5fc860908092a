import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { ActionRequest } from "../../consoleapi/actions.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import {
  buildCatalogChange,
  buildDriftChange,
  buildPinChange,
  buildPlanApproval,
  buildReconcileRequest,
  buildSuspension,
  checkPlanApproval,
  findPin,
  type ObjectPatch,
} from "../../rollout/changes.ts";
import { buildSourcePatch, changeCatalogSource, formatSourceCommand } from "../../rollout/sourceChange.ts";
import { formatCount, formatList } from "../../text/lists.ts";
import { requireExtension } from "../cluster/currentObjects.ts";
import { ConsoleError } from "../http/consoleError.ts";
import { buildPatchRequest } from "./clusterRequest.ts";
import { type ChangeContext, type PlannedChange, RELOAD, toSeenObject } from "./plannedChange.ts";

const CHANNELS_SHOWN = 5;

type RequestOf<Action extends ActionRequest["action"]> = Extract<ActionRequest, { action: Action }>;

/** Plans the approval of the plan that the user saw. */
export async function planApproval(context: ChangeContext, { extension: name, digest }: RequestOf<"approvePlan">): Promise<PlannedChange> {
  const extension = await requireExtension(context.client, name, context.signal);
  const approval = checkPlanApproval(extension, digest);
  if (approval.kind !== "waiting") throw new ConsoleError("conflict", approval.message, { next: RELOAD });
  const plan = extension.status?.plan;
  const installed = extension.status?.install?.bundle;
  const members = extension.status?.dependencyPlan?.digest === digest ? extension.status.dependencyPlan.members.length : 0;
  return {
    ...(await planPatch(context, extension, buildPlanApproval(extension, digest))),
    title: `Approve the plan of ${name}?`,
    effects: [
      installed
        ? `The controller changes ${name} from version ${installed.version} to version ${plan?.bundle.version ?? ""}.`
        : `The controller installs version ${plan?.bundle.version ?? ""} of ${name}.`,
      ...(plan
        ? [
            `It creates ${formatCount(plan.create, "object")}, changes ${plan.update} and deletes ${plan.delete}; ${plan.unchanged} stay unchanged.`,
          ]
        : []),
      ...(members > 0 ? [`The approval covers ${formatCount(members, "other bundle")}, which this bundle depends on.`] : []),
      "The approval is only valid for this plan. If the plan changes first, nothing is installed.",
    ],
    command: `olmv1 approve ${name} --digest ${digest}`,
  };
}

/** Plans the removal of the pin to a revision. */
export async function planUnpin(context: ChangeContext, { extension: name }: RequestOf<"removePin">): Promise<PlannedChange> {
  const extension = await requireExtension(context.client, name, context.signal);
  const pin = findPin(extension);
  return {
    ...(await planPatch(context, extension, buildPinChange(extension, null, context.now))),
    title: `Remove the pin of ${name}?`,
    effects: [
      `${name} follows its catalogs again, so the controller may upgrade it${extension.spec.approval === "Manual" ? " after an approval" : " immediately"}.`,
    ],
    command: `olmv1 rollback ${name} --cancel`,
    ...(pin === undefined ? { rejected: `${name} is not pinned to a revision.` } : {}),
  };
}

/** Plans to pause or continue an extension. */
export async function planSuspension(context: ChangeContext, name: string, suspend: boolean): Promise<PlannedChange> {
  const extension = await requireExtension(context.client, name, context.signal);
  const isSame = (extension.spec.suspend ?? false) === suspend;
  return {
    ...(await planPatch(context, extension, buildSuspension(extension, suspend))),
    title: suspend ? `Suspend ${name}?` : `Resume ${name}?`,
    effects: suspend
      ? [
          "The controller does not install, upgrade or correct anything until you resume the extension.",
          "The installed operator keeps running.",
        ]
      : ["The controller reconciles the extension again, so it may upgrade it or correct changed objects."],
    command: `kubectl patch clusterextension ${name} --type merge -p '{"spec":{"suspend":${suspend}}}'`,
    ...(isSame ? { rejected: suspend ? `${name} is already suspended.` : `${name} is not suspended.` } : {}),
  };
}

/** Plans a request to reconcile an extension now. */
export async function planReconcile(context: ChangeContext, { extension: name }: RequestOf<"reconcile">): Promise<PlannedChange> {
  const extension = await requireExtension(context.client, name, context.signal);
  return {
    ...(await planPatch(context, extension, buildReconcileRequest(extension, context.now))),
    title: `Reconcile ${name} now?`,
    effects: [
      "The controller resolves the bundle again and compares every installed object with it.",
      ...(extension.spec.suspend ? [`${name} is suspended, so the controller ignores the request.`] : []),
    ],
    command: `kubectl annotate clusterextension ${name} olm.operatorframework.io/reconcile-requested-at=${context.now} --overwrite`,
  };
}

/** What the controller does with drift, by policy. */
export const DRIFT_EFFECTS: Readonly<Record<RequestOf<"setDriftPolicy">["policy"], string>> = {
  Correct: "The controller reverts every changed or deleted object to the state in the bundle, now and in the future.",
  Warn: "The controller reports changed and deleted objects, and does not change them.",
  Ignore: "The controller does not detect changed or deleted objects.",
};

/** Plans another reaction to drift. */
export async function planDriftPolicy(
  context: ChangeContext,
  { extension: name, policy }: RequestOf<"setDriftPolicy">,
): Promise<PlannedChange> {
  const extension = await requireExtension(context.client, name, context.signal);
  return {
    ...(await planPatch(context, extension, buildDriftChange(extension, policy))),
    title: `Set the drift policy of ${name} to ${policy}?`,
    effects: [DRIFT_EFFECTS[policy], "Fields in spec.drift.ignore are not affected."],
    command: `kubectl patch clusterextension ${name} --type merge -p '{"spec":{"drift":{"policy":"${policy}"}}}'`,
    ...(extension.spec.drift?.policy === policy ? { rejected: `The drift policy of ${name} is already ${policy}.` } : {}),
  };
}

/** Plans another version range, other channels, or another upgrade policy. */
export async function planSourceChange(context: ChangeContext, request: RequestOf<"changeSource">): Promise<PlannedChange> {
  const { extension: name, digest } = request;
  const extension = await requireExtension(context.client, name, context.signal);
  const desired = changeSource(extension, request);
  const patch = buildSourcePatch(extension, desired);
  const [before, after] = [extension.spec.source.catalog, desired.spec.source.catalog];
  return {
    ...(await planPatch(context, extension, buildCatalogChange(extension, desired, digest ?? null))),
    title: `Change the versions that ${name} may get?`,
    effects: [
      ...("version" in patch ? [`Version range: ${formatRange(before?.version)} becomes ${formatRange(after?.version)}.`] : []),
      ...("channels" in patch ? [`Channels: ${formatChannels(before?.channels)} becomes ${formatChannels(after?.channels)}.`] : []),
      ...("upgradeConstraintPolicy" in patch ? [POLICY_EFFECTS[after?.upgradeConstraintPolicy ?? "CatalogProvided"]] : []),
      describeSourceEffect(extension, digest),
    ],
    isDanger: after?.upgradeConstraintPolicy === "SelfCertified" && "upgradeConstraintPolicy" in patch,
    command: formatSourceCommand(name, patch),
    ...(Object.keys(patch).length === 0 ? { rejected: `${name} already has these limits.` } : {}),
  };
}

const POLICY_EFFECTS = {
  CatalogProvided: "Upgrades follow the upgrade edges of the catalog.",
  SelfCertified: "Upgrades to any version are allowed, without an upgrade edge, including downgrades, which can lose data.",
} as const;

function formatRange(version: string | undefined): string {
  return version ? version : "any version";
}

function formatChannels(channels: readonly string[] | undefined): string {
  return channels?.length ? formatList(channels, { max: CHANNELS_SHOWN }) : "all channels";
}

function changeSource(extension: ClusterExtension, change: RequestOf<"changeSource">): ClusterExtension {
  try {
    return changeCatalogSource(extension, change);
  } catch (err) {
    throw new ConsoleError("invalid", getErrorMessage(err), { cause: err });
  }
}

function describeSourceEffect({ metadata, spec }: ClusterExtension, digest: string | undefined): string {
  const { name } = metadata;
  if (spec.suspend) return `${name} is suspended, so the change takes effect when you resume it.`;
  if (findPin({ metadata }) !== undefined) return `${name} is pinned to a revision, so the change takes effect when you remove the pin.`;
  if (spec.approval !== "Manual") return "If this selects another bundle, the controller installs it immediately.";
  if (digest === undefined) return "If this selects another bundle, its plan waits for your approval.";
  return "The change also approves the plan that you see, so the controller carries it out immediately.";
}

/** Returns the members of a change that consists of one patch of the extension. */
export async function planPatch(
  { client }: Pick<ChangeContext, "client">,
  extension: ClusterExtension,
  patch: ObjectPatch,
): Promise<Pick<PlannedChange, "requests" | "seen">> {
  return { requests: [await buildPatchRequest(client, patch, extension)], seen: toSeenObject(extension) };
}
