import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { ConditionRow, ExtensionOverview } from "../../consoleapi/overview.ts";
import { formatPlatformSupport } from "../../fbc/versionSupport.ts";
import { describeCatalogState, findCatalogFailure } from "../../rollout/catalogState.ts";
import { type ConditionView, listConditionViews } from "../../rollout/conditionView.ts";
import type { ExtensionDescription } from "../../rollout/extensionDescription.ts";
import { describeExtensionState, hasForeignStatus } from "../../rollout/extensionState.ts";
import {
  describeAvailableUpdates,
  describeDrift,
  describeInstalledBundle,
  describeInstaller,
  describeNamespace,
  describePin,
  describeSource,
  describeUninstallPolicy,
} from "../../rollout/extensionSummary.ts";
import type { Mood } from "../../rollout/mood.ts";
import { countPlanProgress, findPlanRoots, formatPlanFailure, listPlanProgress } from "../../rollout/planProgress.ts";
import { parseSuggestedSteps } from "../../rollout/suggestedStep.ts";
import { describeSupport } from "../../rollout/supportText.ts";
import { truncate } from "../../text/truncate.ts";
import { toMoodText } from "../live/rows.ts";
import { toEventRows } from "../objects/eventRows.ts";
import { toObjectState } from "../objects/objectState.ts";
import { toReference } from "../objects/objectView.ts";
import { PLAN_MEMBER_STATES } from "./planMemberStates.ts";
import { listProblemViews } from "./problemView.ts";

const MAX_MESSAGE = 8_000;
const MAX_CONDITIONS = 50;
const MAX_OBJECTS = 100;
const MOOD_ORDER: readonly (Mood | undefined)[] = ["bad", "warning", "faint", undefined, "strong", "good"];

/** Returns what the page shows of a description. @param now milliseconds since the epoch */
export function buildOverview(described: ExtensionDescription, now: number): ExtensionOverview {
  const { extension, installed, releases, events, others } = described;
  const known = typeof others === "string" ? [] : others;
  const { metadata, status } = extension;
  const plan = buildPlan(extension, known);
  const reported = new Set((status?.problems ?? []).map(({ message }) => message));
  const unhealthy = described.objects.filter(({ state }) => state !== "healthy").slice(0, MAX_OBJECTS);
  return {
    name: metadata.name,
    state: toMoodText(describeExtensionState(extension)),
    summary: buildSummary(described, now),
    problems: listProblemViews(extension, releases),
    omittedProblems: status?.omittedProblems ?? 0,
    hasConditionsOnly: hasForeignStatus(extension),
    conditions: listConditionViews(extension)
      .sort((one, other) => MOOD_ORDER.indexOf(one.mood) - MOOD_ORDER.indexOf(other.mood))
      .slice(0, MAX_CONDITIONS)
      .map((view) => toConditionRow(view, reported)),
    objects: {
      ...(installed.unknown === undefined ? { count: installed.count } : { unknown: truncate(installed.unknown, MAX_MESSAGE) }),
      notReady: unhealthy.map(({ ref, state, message }) => ({ object: toReference(ref), state: toObjectState(state), message })),
    },
    ...(plan ? { plan } : {}),
    partOf: findPlanRoots(metadata.name, known),
    catalogs: buildCatalogs(described.catalogs),
    keptCrds: status?.keptCRDs ?? [],
    events: toEventRows(events),
  };
}

function buildSummary(described: ExtensionDescription, now: number): ExtensionOverview["summary"] {
  const { extension } = described;
  const { metadata, spec, status } = extension;
  const platform = status?.support && formatPlatformSupport(status.support);
  const pin = describePin(extension);
  return {
    package: spec.source.catalog?.packageName ?? "",
    installed: describeInstalledBundle(extension),
    ...(status?.support ? { support: toMoodText(describeSupport(status.support)) } : {}),
    ...(platform === undefined ? {} : { platform }),
    namespace: describeNamespace(extension),
    installer: describeInstaller(described),
    source: describeSource(extension),
    updates: describeAvailableUpdates(extension),
    approval: spec.approval ?? "Automatic",
    ...(pin === undefined ? {} : { pin }),
    drift: truncate(describeDrift(described, now), MAX_MESSAGE),
    crdPolicy: describeUninstallPolicy(extension),
    ...(metadata.creationTimestamp ? { created: metadata.creationTimestamp } : {}),
  };
}

/** @param reported messages of the problems, which conditions often repeat */
function toConditionRow({ condition, mood, details: found }: ConditionView, reported: ReadonlySet<string>): ConditionRow {
  const { type, status, reason, message, lastTransitionTime } = condition;
  const details: ConditionView["details"] = found.kind === "own" && reported.has(message) ? { kind: "problems" } : found;
  const advice = details.kind === "own" ? details.advice : undefined;
  const see = details.kind === "condition" ? details.type : details.kind === "problems" ? "problems" : undefined;
  return {
    type,
    status,
    reason,
    state: toMoodText({ text: status, mood }),
    message: details.kind === "own" ? truncate(details.message, MAX_MESSAGE) : "",
    since: lastTransitionTime,
    ...(see === undefined ? {} : { see }),
    means: advice?.means ?? "",
    next: parseSuggestedSteps(advice?.next ?? []),
  };
}

function buildPlan(extension: ClusterExtension, others: readonly ClusterExtension[]): ExtensionOverview["plan"] {
  const count = countPlanProgress(extension, others);
  if (!count) return undefined;
  const failure = formatPlanFailure(extension);
  return {
    ...count,
    ...(failure === undefined ? {} : { failure }),
    members: listPlanProgress(extension, others).map(({ wave, bundle, extension: name, state, why }) => ({
      wave,
      bundle: bundle.name,
      extension: name,
      state: PLAN_MEMBER_STATES[state],
      why,
    })),
  };
}

function buildCatalogs(catalogs: ExtensionDescription["catalogs"]): ExtensionOverview["catalogs"] {
  if (typeof catalogs === "string") return { error: truncate(catalogs, MAX_MESSAGE) };
  return catalogs.map((catalog) => ({
    name: catalog.metadata.name,
    state: toMoodText(describeCatalogState(catalog)),
    message: truncate(findCatalogFailure(catalog)?.because ?? "", MAX_MESSAGE),
  }));
}
