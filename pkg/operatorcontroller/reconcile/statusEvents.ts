import type { ClusterExtension, ClusterExtensionStatus } from "../../api/clusterExtension.ts";
import { findCondition, listChangedConditions } from "../../api/conditions.ts";
import { ConditionType, Reason } from "../../api/constants.ts";
import { type EventSink, getWarningReason } from "../../api/events.ts";
import type { Condition } from "../../api/k8s.ts";
import { findProblem } from "../../api/problems.ts";
import { type StatusEvent, StatusWriter } from "../../controller/statusWriter.ts";
import type { Client } from "../../kube/client.ts";

/**
 * Returns the writer of extension statuses. If the API server rejects a status because of the bundle's name or version,
 * the writer omits `install`, because the conditions must be visible.
 */
export function createExtensionStatusWriter(client: Pick<Client, "get" | "patch">, events: EventSink): StatusWriter<ClusterExtension> {
  return new StatusWriter({
    client,
    events,
    describe: extensionEvents,
    reduce: ({ install, ...rest }) => (install === undefined ? undefined : rest),
  });
}

/**
 * Returns the Events for a changed status of an extension. Pure. The steps themselves record Events for their actions,
 * such as `Installed`.
 *
 * | what changed                                       | Event                             |
 * | Progressing: the reason was Suspended              | Normal Resumed                    |
 * | Progressing: the reason became Suspended           | Normal Suspended                  |
 * | Progressing: Retrying or False, each new text      | Warning, `getWarningReason`          |
 * | Available: the reason became Unhealthy or Healthy  | Warning Unhealthy, Normal Healthy |
 * | ClusterUpgradeBlocked became True                  | Warning ClusterUpgradeBlocked     |
 * | ClusterUpgradeBlocked was True                     | Normal ClusterUpgradeUnblocked    |
 * | a new Warning about missing permissions            | Warning PermissionsMissing        |
 */
function extensionEvents({ status: before }: Readonly<ClusterExtension>, after: ClusterExtensionStatus): StatusEvent[] {
  const changed = listChangedConditions(before?.conditions, after.conditions).flatMap(({ condition, before: old }) => {
    if (condition.type === ConditionType.Progressing) return progressEvents(condition, old, after);
    return condition.type === ConditionType.Available && old?.reason !== condition.reason ? healthEvents(condition) : [];
  });
  return [...changed, ...blockEvents(before, after), ...permissionEvents(before, after)];
}

function progressEvents(
  { status, reason, message }: Condition,
  before: Condition | undefined,
  { problems }: ClusterExtensionStatus,
): StatusEvent[] {
  if (reason === Reason.Suspended) return [{ reason: "Suspended", message }];
  const resumed: StatusEvent = { reason: "Resumed", message: "reconciliation resumed because spec.suspend is no longer true" };
  const failed = reason === Reason.Retrying || status === "False";
  return [
    ...(before?.reason === Reason.Suspended ? [resumed] : []),
    ...(failed ? [{ reason: getWarningReason(reason, problems), message: withNext(message, problems) }] : []),
  ];
}

function healthEvents({ reason, message }: Condition): StatusEvent[] {
  if (reason === Reason.Unhealthy) return [{ reason: "Unhealthy", message }];
  return reason === Reason.Healthy ? [{ reason: "Healthy", message }] : [];
}

function blockEvents(before: ClusterExtensionStatus | undefined, after: ClusterExtensionStatus): StatusEvent[] {
  const wasBlocked = findCondition(before?.conditions, ConditionType.ClusterUpgradeBlocked)?.status === "True";
  const block = findCondition(after.conditions, ConditionType.ClusterUpgradeBlocked);
  const isBlocked = block?.status === "True";
  if (isBlocked && !wasBlocked) return [{ reason: "ClusterUpgradeBlocked", message: block.message }];
  const message = block?.message ?? "no installed bundle of this extension limits the cluster version";
  return wasBlocked && !isBlocked ? [{ reason: "ClusterUpgradeUnblocked", message }] : [];
}

/** Returns the Event about missing permissions that do not stop the reconcile. */
function permissionEvents(before: ClusterExtensionStatus | undefined, { problems = [] }: ClusterExtensionStatus): StatusEvent[] {
  const missing = problems.find(({ type, severity }) => type === "MissingPermissions" && severity === "Warning");
  if (!missing || findProblem(before, "MissingPermissions")) return [];
  return [{ reason: "PermissionsMissing", message: withNext(missing.message, [missing]) }];
}

/** Appends the next step of the first Error or Warning to `message`. */
function withNext(message: string, problems: ClusterExtensionStatus["problems"] = []): string {
  const next = problems.find((problem) => problem.severity !== "Info")?.next;
  return next === undefined ? message : `${message}; next: ${next}`;
}
