import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { findCondition } from "../../api/conditions.ts";
import { ConditionType, Reason } from "../../api/constants.ts";
import type { Attention } from "../../consoleapi/live.ts";
import { describeCatalogState, findCatalogFailure } from "../../rollout/catalogState.ts";
import { explainCondition, explainProblem, findMostRelevantCondition } from "../../rollout/conditionAdvice.ts";
import { describeExtensionState, hasForeignStatus } from "../../rollout/extensionState.ts";
import { truncate } from "../../text/truncate.ts";

/** Maximum length of a sentence, in characters. */
const MAX_SENTENCE = 400;

/** Returns why an extension needs attention; undefined if it works and waits for nothing. */
export function findExtensionAttention(extension: ClusterExtension): Attention | undefined {
  const { metadata, status } = extension;
  const problems = status?.problems ?? [];
  const failing = problems.find(({ severity }) => severity === "Error");
  const state = describeExtensionState(extension);
  if (failing) return { severity: "error", ...describeProblem(extension, failing) };
  if (state.mood === "bad") return { severity: "error", ...describeCondition(extension) };
  if (status?.plan) {
    const { name, version } = status.plan.bundle;
    return {
      severity: "info",
      sentence: bounded(`Bundle ${name} (version ${version}) waits for your approval.`),
      next: [`olmv1 approve ${metadata.name}`],
    };
  }
  const warning = problems.find(({ severity }) => severity === "Warning");
  if (warning) return { severity: "warning", ...describeProblem(extension, warning) };
  const blocking = findCondition(status?.conditions, ConditionType.ClusterUpgradeBlocked);
  if (blocking?.status === "True") return { severity: "warning", ...explain(extension, blocking) };
  const deprecated = findCondition(status?.conditions, ConditionType.Deprecated);
  if (deprecated?.status === "True")
    return { severity: "warning", sentence: bounded(deprecated.message), next: explainCondition(extension, deprecated).next.slice() };
  if (state.mood === "warning") return { severity: "info", ...describeCondition(extension) };
  if (status?.blockedUpdate) {
    const { version, message } = status.blockedUpdate;
    return {
      severity: "info",
      sentence: bounded(`Version ${version} is blocked: ${message}`),
      next: [`olmv1 why-not ${metadata.name} ${version}`],
    };
  }
  return undefined;
}

/** Takes the next steps from the problem and its type; from the condition if the type is unknown, because the condition may have another cause. */
function describeProblem(
  extension: ClusterExtension,
  { type, message, next }: { readonly type: string; readonly message: string; readonly next?: string | undefined },
): Omit<Attention, "severity"> {
  const own = [...(next === undefined ? [] : [next]), ...explainProblem(extension, { type }).next];
  const condition = own.length === 0 ? findMostRelevantCondition(extension.status?.conditions) : undefined;
  const advice = condition ? explainCondition(extension, condition).next : own;
  return { sentence: bounded(message), next: [...new Set(advice)] };
}

function describeCondition(extension: ClusterExtension): Omit<Attention, "severity"> {
  const ready = findCondition(extension.status?.conditions, ConditionType.Ready);
  const condition = ready && ready.status !== "True" ? ready : findMostRelevantCondition(extension.status?.conditions);
  if (extension.metadata.deletionTimestamp !== undefined && condition === undefined)
    return explain(extension, { reason: Reason.Uninstalling, message: "" });
  if (!condition) return { sentence: "", next: [] };
  const explained = explain(extension, condition);
  // Only the condition contains the cause, and the Go implementation creates no Events for it.
  if (!hasForeignStatus(extension)) return explained;
  return { sentence: bounded(condition.message), next: [`olmv1 describe ${extension.metadata.name}`] };
}

function explain(extension: ClusterExtension, condition: { reason: string; message: string }): Omit<Attention, "severity"> {
  const { means, next } = explainCondition(extension, condition);
  return { sentence: bounded(means === "" ? condition.message : means), next: [...next] };
}

/** Returns why a catalog needs attention; undefined if its content is served without errors. */
export function findCatalogAttention(catalog: ClusterCatalog): Attention | undefined {
  const { metadata, status } = catalog;
  const { mood } = describeCatalogState(catalog);
  const failure = findCatalogFailure(catalog);
  const describe = `kubectl describe clustercatalog ${metadata.name}`;
  if (failure) {
    const isServing = findCondition(status?.conditions, ConditionType.Serving)?.status === "True";
    return {
      severity: isServing ? "warning" : "error",
      sentence: bounded(failure.because),
      next: failure.remedy === undefined ? [describe] : [failure.remedy, describe],
    };
  }
  const worst = status?.problems?.find(({ severity }) => severity === "Error") ?? status?.problems?.[0];
  if (worst && worst.severity !== "Info")
    return { severity: "warning", sentence: bounded(worst.message), next: worst.next === undefined ? [describe] : [worst.next] };
  const valid = findCondition(status?.conditions, "Valid");
  if (valid?.status === "False") return { severity: "warning", sentence: bounded(valid.message), next: [describe] };
  if (mood === "warning" || mood === "bad") return { severity: "info", sentence: "The catalog is being unpacked.", next: [] };
  return undefined;
}

/** Returns the first line, truncated. */
function bounded(text: string): string {
  const [line = ""] = text.split("\n");
  return truncate(line, MAX_SENTENCE);
}
