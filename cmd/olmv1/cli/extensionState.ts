import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { findCondition } from "../../../pkg/api/conditions.ts";
import { ConditionType, LABEL_METADATA_NAME, Reason } from "../../../pkg/api/constants.ts";
import type { Mood, Styled } from "./table.ts";

/** Reasons that are over by themselves. */
const UNDER_WAY: ReadonlySet<string> = new Set([Reason.RollingOut, Reason.Uninstalling, Reason.Suspended, Reason.AwaitingApproval]);

/** Where an extension stands, in a word: Ready, the reason why it is not, or Pending before anybody has looked. */
export function describeExtensionState({ metadata, spec, status }: Pick<ClusterExtension, "metadata" | "spec" | "status">): Styled {
  if (metadata.deletionTimestamp !== undefined) return { text: Reason.Uninstalling, mood: "warning" };
  if (spec.suspend) return { text: Reason.Suspended, mood: "warning" };
  const ready = findCondition(status?.conditions, ConditionType.Ready);
  if (!ready) return { text: "Pending", mood: "faint" };
  if (ready.status === "True") return { text: "Ready", mood: "good" };
  return { text: ready.reason, mood: UNDER_WAY.has(ready.reason) ? "warning" : "bad" };
}

/** The version that may follow, or the one that may not; empty where there is none. */
export function updateOf({ status }: Pick<ClusterExtension, "status">): Styled {
  const [next] = status?.availableUpdates ?? [];
  if (next) return { text: next.version, mood: "warning" };
  return status?.blockedUpdate ? { text: `(${status.blockedUpdate.version} blocked)`, mood: "faint" } : { text: "" };
}

/** Whether the catalogs have a newer version than the installed one. */
export function isOutdated({ status }: Pick<ClusterExtension, "status">): boolean {
  return (status?.availableUpdates ?? []).length > 0 || status?.blockedUpdate !== undefined;
}

/** The catalogs that an extension selects: their names where the selector names them, `any`, or `by labels`. */
export function catalogsOf({ spec }: Pick<ClusterExtension, "spec">): string {
  const { selector } = spec.source.catalog ?? {};
  if (!selector) return "any";
  const labelled = selector.matchLabels?.[LABEL_METADATA_NAME];
  const listed = (selector.matchExpressions ?? []).find(({ key, operator }) => key === LABEL_METADATA_NAME && operator === "In")?.values;
  const names = labelled === undefined ? (listed ?? []) : [labelled];
  return names.length > 0 ? names.join(",") : "by labels";
}

/** How a status of a condition is meant; of a deprecation True is no good news. */
export function moodOf(type: string, status: string): Mood | undefined {
  const isBad = type.endsWith("Deprecated") || type === ConditionType.ClusterUpgradeBlocked;
  if (status === "Unknown") return "faint";
  return (status === "True") === isBad ? (isBad ? "warning" : "bad") : "good";
}
