import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { ActionRequest } from "../../consoleapi/actions.ts";
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
import { formatCount, formatList } from "../../text/lists.ts";
import { quoteShellWord } from "../../text/shell.ts";
import { ConsoleError } from "../http/consoleError.ts";
import { buildPatchRequest } from "./clusterRequest.ts";
import { type ChangeContext, type PlannedChange, RELOAD, requireExtension, toSeenObject } from "./plannedChange.ts";

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
    isDanger: (plan?.delete ?? 0) > 0,
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

const DRIFT_EFFECTS: Readonly<Record<RequestOf<"setDriftPolicy">["policy"], string>> = {
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

/** Plans another version range or other channels. */
export async function planSourceChange(context: ChangeContext, request: RequestOf<"changeSource">): Promise<PlannedChange> {
  const { extension: name, digest } = request;
  const extension = await requireExtension(context.client, name, context.signal);
  const desired = buildChangedSource(extension, request);
  const isManual = extension.spec.approval === "Manual";
  const [before, after] = [extension.spec.source.catalog, desired.spec.source.catalog];
  const isSame = JSON.stringify(before) === JSON.stringify(after);
  const channels = (list: readonly string[] | undefined): string => (list?.length ? formatList(list, { max: 5 }) : "all channels");
  const range = (version: string | undefined): string => (version ? version : "any version");
  return {
    ...(await planPatch(context, extension, buildCatalogChange(extension, desired, digest ?? null))),
    title: `Change the versions that ${name} may get?`,
    effects: [
      ...(before?.version === after?.version ? [] : [`Version range: ${range(before?.version)} becomes ${range(after?.version)}.`]),
      ...(request.channels === undefined ? [] : [`Channels: ${channels(before?.channels)} becomes ${channels(after?.channels)}.`]),
      ...describeSourceEffect(extension, isManual, digest),
    ],
    ...(isSame ? { rejected: "This is the current version range, and these are the current channels." } : {}),
    command: formatUpgradeCommand(name, request),
  };
}

function describeSourceEffect({ metadata, spec }: ClusterExtension, isManual: boolean, digest: string | undefined): string[] {
  const { name } = metadata;
  if (spec.suspend) return [`${name} is suspended, so the change takes effect when you resume it.`];
  if (findPin({ metadata }) !== undefined) return [`${name} is pinned to a revision, so the change takes effect when you remove the pin.`];
  if (isManual && digest !== undefined)
    return ["The change also approves the plan that you see, so the controller carries it out immediately."];
  if (isManual) return ["If this selects another bundle, its plan waits for your approval."];
  return ["If this selects another bundle, the controller installs it immediately."];
}

function buildChangedSource(
  extension: ClusterExtension,
  { version, channels }: Pick<RequestOf<"changeSource">, "version" | "channels">,
): ClusterExtension {
  const { spec } = extension;
  const { catalog } = spec.source;
  if (!catalog) throw new ConsoleError("invalid", "the extension has no spec.source.catalog");
  const { version: range, channels: list, ...others } = catalog;
  const changed = {
    ...others,
    ...pick("version", version === undefined ? range : version === "" ? undefined : version),
    ...pick("channels", channels === undefined ? list : channels.length === 0 ? undefined : channels),
  };
  return { ...extension, spec: { ...spec, source: { ...spec.source, catalog: changed } } };
}

function pick<K extends string, T>(key: K, value: T | undefined): Partial<Record<K, T>> {
  return value === undefined ? {} : ({ [key]: value } as Record<K, T>);
}

/** Formats the command with the same effect. Removing all channels has no command. */
function formatUpgradeCommand(name: string, { version, channels }: Pick<RequestOf<"changeSource">, "version" | "channels">): string {
  if (channels?.length === 0) return `kubectl edit clusterextension ${name}`;
  const range = version === undefined ? [] : version === "" ? ["--any-version"] : ["--version", quoteShellWord(version)];
  return ["olmv1 upgrade", name, ...range, ...(channels ?? []).flatMap((channel) => ["--channel", quoteShellWord(channel)])].join(" ");
}

/** Returns the members of a change that consists of one patch of the extension. */
export async function planPatch(
  { client }: Pick<ChangeContext, "client">,
  extension: ClusterExtension,
  patch: ObjectPatch,
): Promise<Pick<PlannedChange, "requests" | "seen">> {
  return { requests: [await buildPatchRequest(client, patch, extension)], seen: toSeenObject(extension) };
}
