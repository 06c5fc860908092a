import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { findCondition } from "../../api/conditions.ts";
import { ConditionType, Reason } from "../../api/constants.ts";
import type { ReportedProblem } from "../../api/problemSchema.ts";
import { findProblem } from "../../api/problems.ts";
import type { ExtensionTabName } from "../../consoleapi/extensionTab.ts";
import type { Attention } from "../../consoleapi/live.ts";
import { describeCatalogState, findCatalogFailure } from "../../rollout/catalogState.ts";
import { explainCondition, explainProblem, findMostRelevantCondition } from "../../rollout/conditionAdvice.ts";
import { describeExtensionState, formatRangeCommands, hasForeignStatus } from "../../rollout/extensionState.ts";
import { parseSuggestedSteps } from "../../rollout/suggestedStep.ts";
import { toSentence } from "../../text/sentence.ts";
import { truncate } from "../../text/truncate.ts";
import { findExplainingTab } from "./explainingTab.ts";

/** Maximum length of a sentence, in characters. */
const MAX_SENTENCE = 400;

/** A reason why an extension needs attention, or a note about it. */
export interface ExtensionFinding {
  /** Type of the problem or condition, reason of the condition, or `BlockedUpdate`. */
  readonly type: string;
  /** `error`: it does not work. `warning`: it works, with a risk. `info`: it waits for a decision or a process. `note`: no action is needed. */
  readonly severity: Attention["severity"] | "note";
  readonly message: string;
  /** Most useful first. */
  readonly next: readonly string[];
  /** The tab that explains it. */
  readonly tab?: ExtensionTabName;
  /** The problem in the status, if it reports this. */
  readonly problem?: ReportedProblem;
}

/** Returns why an extension needs attention: its most important finding. Undefined if it works and waits for nothing. */
export function findExtensionAttention(extension: ClusterExtension): Attention | undefined {
  for (const { severity, message, next, tab } of listExtensionFindings(extension))
    if (severity !== "note")
      return { severity, sentence: bounded(message), next: parseSuggestedSteps(next), ...(tab === undefined ? {} : { tab }) };
  return undefined;
}

/** Returns all that the status reports about an extension, most important first: problems, and the conditions and updates that no problem reports. */
export function listExtensionFindings(extension: ClusterExtension): ExtensionFinding[] {
  const { status } = extension;
  const problems = status?.problems ?? [];
  const listProblems = (severity: ReportedProblem["severity"], as: ExtensionFinding["severity"]): ExtensionFinding[] =>
    problems.flatMap((problem) => (problem.severity === severity ? [toFinding(extension, problem, as)] : []));
  const errors = listProblems("Error", "error");
  const state = describeExtensionState(extension);
  const findings = [
    ...errors,
    ...(errors.length === 0 && state.mood === "bad" ? [describeState(extension, "error")] : []),
    ...describePlan(extension),
    ...listProblems("Warning", "warning"),
    ...describeConditions(extension),
  ];
  const isWaiting = findings.length === 0 && state.mood === "warning";
  const others = [...findings, ...(isWaiting ? [describeState(extension, "info")] : []), ...describeBlockedUpdate(extension)];
  const notes = listProblems("Info", "note").filter(({ problem }) => others.every((one) => one.problem !== problem));
  return [...others, ...notes].map((finding) => {
    const tab = findExplainingTab(finding.type);
    return tab === undefined ? finding : { ...finding, tab };
  });
}

/** Takes the next steps from the problem and its type; from the condition if the type is unknown, because the condition may have another cause. */
function toFinding(extension: ClusterExtension, problem: ReportedProblem, severity: ExtensionFinding["severity"]): ExtensionFinding {
  const { type, message, next } = problem;
  const own = [...(next === undefined ? [] : [next]), ...explainProblem(extension, { type }).next];
  const condition = own.length === 0 ? findMostRelevantCondition(extension.status?.conditions) : undefined;
  const advice = condition ? explainCondition(extension, condition).next : own;
  return { type, severity, message, next: [...new Set(advice)], problem };
}

function describeState(extension: ClusterExtension, severity: "error" | "info"): ExtensionFinding {
  const { metadata, status } = extension;
  const type = describeExtensionState(extension).text;
  const reported = status?.problems?.find((problem) => problem.type === type);
  if (reported) return toFinding(extension, reported, severity);
  const ready = findCondition(status?.conditions, ConditionType.Ready);
  const relevant = ready && ready.status !== "True" ? ready : findMostRelevantCondition(status?.conditions);
  const condition = metadata.deletionTimestamp !== undefined && !relevant ? { reason: Reason.Uninstalling, message: "" } : relevant;
  if (!condition) return { type, severity, message: "", next: [] };
  // Only the condition contains the cause, and the Go implementation creates no Events for it.
  const isForeign = hasForeignStatus(extension) && relevant !== undefined;
  const explained = isForeign ? { message: condition.message, next: [`olmv1 describe ${metadata.name}`] } : explain(extension, condition);
  return { type, severity, ...explained };
}

function describePlan(extension: ClusterExtension): ExtensionFinding[] {
  const { metadata, status } = extension;
  if (!status?.plan) return [];
  const { name, version } = status.plan.bundle;
  const problem = findProblem(status, "AwaitingApproval");
  const message = `Bundle ${name} (version ${version}) waits for your approval.`;
  return [
    {
      type: Reason.AwaitingApproval,
      severity: "info",
      message: problem ? `${message}\n${toSentence(problem.message)}` : message,
      next: [`olmv1 approve ${metadata.name}`],
      ...(problem ? { problem } : {}),
    },
  ];
}

/** Describes conditions that are true although the extension works. */
function describeConditions(extension: ClusterExtension): ExtensionFinding[] {
  const { conditions, problems = [] } = extension.status ?? {};
  const holding = [ConditionType.ClusterUpgradeBlocked, ConditionType.Deprecated].flatMap((type) => {
    const condition = findCondition(conditions, type);
    return condition?.status === "True" && problems.every((problem) => problem.type !== type) ? [condition] : [];
  });
  return holding.map((condition) => {
    const { message, next } = explain(extension, condition);
    const { type } = condition;
    return { type, severity: "warning", message: type === ConditionType.Deprecated ? condition.message : message, next };
  });
}

function describeBlockedUpdate({ metadata: { name }, status }: ClusterExtension): ExtensionFinding[] {
  if (!status?.blockedUpdate) return [];
  const { version, message } = status.blockedUpdate;
  return [
    {
      type: "BlockedUpdate",
      severity: "info",
      message: `Version ${version} is blocked: ${message}`,
      next: [`olmv1 why-not ${name} ${version}`, ...formatRangeCommands(name, status.blockedUpdate)],
    },
  ];
}

function explain(
  extension: ClusterExtension,
  condition: { reason: string; message: string },
): { readonly message: string; readonly next: readonly string[] } {
  const { means, next } = explainCondition(extension, condition);
  return { message: means === "" ? condition.message : means, next };
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
      next: parseSuggestedSteps(failure.remedy === undefined ? [describe] : [failure.remedy, describe]),
    };
  }
  const worst = status?.problems?.find(({ severity }) => severity === "Error") ?? status?.problems?.[0];
  if (worst && worst.severity !== "Info")
    return { severity: "warning", sentence: bounded(worst.message), next: parseSuggestedSteps([worst.next ?? describe]) };
  const valid = findCondition(status?.conditions, "Valid");
  if (valid?.status === "False") return { severity: "warning", sentence: bounded(valid.message), next: parseSuggestedSteps([describe]) };
  if (mood === "warning" || mood === "bad") return { severity: "info", sentence: "The catalog is being unpacked.", next: [] };
  return undefined;
}

/** Returns the first line, truncated. */
function bounded(text: string): string {
  const [line = ""] = text.split("\n");
  return truncate(line, MAX_SENTENCE);
}
