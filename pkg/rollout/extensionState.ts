import type { ClusterExtension } from "../api/clusterExtension.ts";
import type { BlockedUpdate } from "../api/clusterExtensionStatus.ts";
import { findCondition } from "../api/conditions.ts";
import { ANNOTATION_ROLLBACK_TO, ConditionType, LABEL_METADATA_NAME, Reason } from "../api/constants.ts";
import type { Condition } from "../api/k8s.ts";
import { findProblem } from "../api/problems.ts";
import type { Mood, Styled } from "./mood.ts";

/** Reasons why an extension is not ready that are not errors. */
const UNDER_WAY: ReadonlySet<string> = new Set([
  Reason.RollingOut,
  Reason.Uninstalling,
  Reason.Suspended,
  Reason.AwaitingApproval,
  Reason.Absent,
]);
/** Reasons whose cause is only in `status.problems`. */
export const GENERAL_REASONS: ReadonlySet<string> = new Set([Reason.Retrying, Reason.Blocked]);

/**
 * Whether another implementation of OLM v1, such as the Go one, wrote the status: every status of this one has condition Ready. Such a status has no
 * problems, inventory, updates, plan or drift.
 */
export function hasForeignStatus({ status }: { readonly status?: ClusterExtension["status"] | undefined }): boolean {
  const conditions = status?.conditions ?? [];
  return conditions.length > 0 && findCondition(conditions, ConditionType.Ready) === undefined;
}

/** What stands for a value that only olmv1 reports, if another implementation wrote the status. */
export const NOT_REPORTED = "not reported by this OLM";

/**
 * Returns the state of an extension in a word: Ready, the reason why it is not ready, or Pending before its first reconcile. The Go implementation has
 * no condition Ready: then Installed, or the reason of the condition that is not as desired.
 */
export function describeExtensionState({ metadata, spec, status }: Pick<ClusterExtension, "metadata" | "spec" | "status">): Styled {
  if (metadata.deletionTimestamp !== undefined) return { text: Reason.Uninstalling, mood: "warning" };
  if (spec.suspend) return { text: Reason.Suspended, mood: "warning" };
  const deciding = findDecidingCondition(status?.conditions);
  if (!deciding) return { text: "Pending", mood: "faint" };
  if (isAsDesired(deciding)) return { text: deciding.type, mood: "good" };
  return { text: formatCause(deciding.reason, status), mood: UNDER_WAY.has(deciding.reason) ? "warning" : "bad" };
}

/**
 * Returns the condition that decides the state of an extension: Ready. Without it: Progressing if it is not Succeeded, Available if it is not True,
 * else Installed. Undefined before the first reconcile.
 */
export function findDecidingCondition(conditions: readonly Condition[] | undefined): Condition | undefined {
  const ready = findCondition(conditions, ConditionType.Ready);
  if (ready) return ready;
  const progressing = findCondition(conditions, ConditionType.Progressing);
  if (progressing && (progressing.status !== "True" || progressing.reason !== Reason.Succeeded)) return progressing;
  const available = findCondition(conditions, ConditionType.Available);
  if (available && available.status !== "True") return available;
  return findCondition(conditions, ConditionType.Installed);
}

/** Whether a deciding condition reports that the extension works. Progressing never does: it decides only while it is not Succeeded. */
export function isAsDesired({ type, status }: Pick<Condition, "type" | "status">): boolean {
  return status === "True" && type !== ConditionType.Progressing;
}

/** Returns the type of the first Error in `status.problems`, such as MissingPermissions, if the reason is as general as Retrying. */
function formatCause(reason: string, status: ClusterExtension["status"]): string {
  if (!GENERAL_REASONS.has(reason)) return reason;
  return (status?.problems ?? []).find(({ severity }) => severity === "Error")?.type ?? reason;
}

/** Returns short descriptions of the holds on an extension: suspended, pinned, rolled back, or awaiting approval. */
export function findHolds({ metadata, spec, status }: Pick<ClusterExtension, "metadata" | "spec" | "status">): string[] {
  const pinned = metadata.annotations?.[ANNOTATION_ROLLBACK_TO];
  return [
    ...(spec.suspend ? ["suspended"] : []),
    ...(pinned === undefined ? [] : [`pinned to revision ${pinned}`]),
    ...(pinned === undefined && findProblem(status, "RolledBack") ? ["rolled back"] : []),
    ...(status?.plan ? ["needs approval"] : []),
  ];
}

/** Returns the available version, or the newest version that a rule blocks; empty if no version is newer. */
export function describeUpdate({ status }: Pick<ClusterExtension, "status">): Styled {
  if (status?.install && hasForeignStatus({ status })) return { text: NOT_REPORTED, mood: "faint" };
  const [next] = status?.availableUpdates ?? [];
  if (next) return { text: next.version, mood: "warning" };
  return status?.blockedUpdate ? { text: `(${status.blockedUpdate.version} blocked)`, mood: "faint" } : { text: "" };
}

/** Whether the catalogs have a newer version than the installed one. */
export function isOutdated({ status }: Pick<ClusterExtension, "status">): boolean {
  return (status?.availableUpdates ?? []).length > 0 || status?.blockedUpdate !== undefined;
}

/** Returns the catalogs that an extension selects: names if the selector lists names, else `any` or `by labels`. */
export function describeCatalogs({ spec }: Pick<ClusterExtension, "spec">): string {
  const { selector } = spec.source.catalog ?? {};
  if (!selector) return "any";
  const labelled = selector.matchLabels?.[LABEL_METADATA_NAME];
  const listed = (selector.matchExpressions ?? []).find(({ key, operator }) => key === LABEL_METADATA_NAME && operator === "In")?.values;
  const names = labelled === undefined ? (listed ?? []) : [labelled];
  return names.length > 0 ? names.join(",") : "by labels";
}

/** Returns the mood of a condition; True is a warning for deprecations. */
export function getConditionMood(type: string, status: string): Mood | undefined {
  const isBad = type.endsWith("Deprecated") || type === ConditionType.ClusterUpgradeBlocked;
  if (status === "Unknown") return "faint";
  return (status === "True") === isBad ? (isBad ? "warning" : "bad") : "good";
}

/** Returns commands that change the version range of an extension to allow an excluded version. */
export function formatRangeCommands(name: string, { reason, version }: Pick<BlockedUpdate, "reason" | "version">): string[] {
  if (reason !== "VersionRange") return [];
  return [`olmv1 upgrade ${name} --version ${version}`, `olmv1 upgrade ${name} --any-version`];
}
