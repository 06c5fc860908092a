import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import { type ClusterExtension, getNamespace } from "../../api/clusterExtension.ts";
import { findCondition } from "../../api/conditions.ts";
import { ConditionType } from "../../api/constants.ts";
import type { CatalogRow, ExtensionRow, MoodText } from "../../consoleapi/live.ts";
import { getAccountName } from "../../permissions/grantObjects.ts";
import { describeCatalogState } from "../../rollout/catalogState.ts";
import {
  describeExtensionState,
  describeUpdate,
  findDecidingCondition,
  findHolds,
  hasForeignStatus,
} from "../../rollout/extensionState.ts";
import type { Styled } from "../../rollout/mood.ts";
import { countPlanProgress } from "../../rollout/planProgress.ts";
import { describeSupport } from "../../rollout/supportText.ts";
import { findCatalogAttention, findExtensionAttention } from "./attention.ts";

/**
 * Returns the row of an extension.
 * @param all the extensions of the cluster, for the progress of its plan
 */
export function toExtensionRow(extension: ClusterExtension, all: readonly ClusterExtension[]): ExtensionRow {
  const { metadata, spec, status } = extension;
  const source = spec.source.catalog;
  const bundle = status?.install?.bundle;
  return withoutUndefined<ExtensionRow>({
    name: metadata.name,
    uid: metadata.uid ?? "",
    resourceVersion: metadata.resourceVersion ?? "",
    package: source?.packageName ?? "",
    version: bundle?.version,
    bundle: bundle?.name,
    catalog: status?.install?.catalog,
    namespace: getNamespace(extension),
    serviceAccount: getAccountName(extension),
    channels: [...(source?.channels ?? [])],
    range: source?.version === "" ? undefined : source?.version,
    approval: spec.approval ?? "Automatic",
    state: toMoodText(describeExtensionState(extension)),
    update: toMoodText(describeUpdate(extension)),
    hasUpdate: bundle && hasForeignStatus(extension) ? undefined : (status?.availableUpdates ?? []).length > 0,
    pendingPlan: status?.plan?.digest,
    deprecated: findCondition(status?.conditions, ConditionType.Deprecated)?.status === "True",
    support: status?.support && toMoodText(describeSupport(status.support)),
    holds: findHolds(extension),
    problems: [...new Set((status?.problems ?? []).flatMap(({ type, severity }) => (severity === "Info" ? [] : [type])))],
    plan: countPlanProgress(extension, all),
    created: metadata.creationTimestamp ?? undefined,
    changed: findDecidingCondition(status?.conditions)?.lastTransitionTime,
    attention: findExtensionAttention(extension),
  });
}

/** Returns the row of a catalog. */
export function toCatalogRow(catalog: ClusterCatalog): CatalogRow {
  const { metadata, spec, status } = catalog;
  return withoutUndefined<CatalogRow>({
    name: metadata.name,
    uid: metadata.uid ?? "",
    resourceVersion: metadata.resourceVersion ?? "",
    state: toMoodText(describeCatalogState(catalog)),
    image: spec.source.image?.ref ?? "",
    digest: status?.resolvedSource?.image?.ref.split("@")[1],
    priority: spec.priority ?? 0,
    unpacked: status?.lastUnpacked,
    pollMinutes: spec.source.image?.pollIntervalMinutes,
    labels: { ...metadata.labels },
    findings: (status?.problems ?? []).length + (status?.omittedProblems ?? 0),
    created: metadata.creationTimestamp ?? undefined,
    attention: findCatalogAttention(catalog),
  });
}

/** Returns a styled text without the mood if it has none. */
export function toMoodText({ text, mood }: Styled): MoodText {
  return mood === undefined ? { text } : { text, mood };
}

/** Returns the row without members whose value is undefined, which its schema does not allow. */
function withoutUndefined<Row extends object>(row: { [K in keyof Row]: Row[K] | undefined }): Row {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined)) as Row;
}
