import type { ClusterExtension } from "../api/clusterExtension.ts";
import { isKstatusCondition } from "../api/conditions.ts";
import { ConditionType, Reason } from "../api/constants.ts";
import type { Condition } from "../api/k8s.ts";
import { findProblem } from "../api/problems.ts";
import type { ProblemSeverity } from "../api/problemTypes.ts";
import { type ConditionAdvice, explainCondition } from "./conditionAdvice.ts";
import { GENERAL_REASONS, getConditionMood } from "./extensionState.ts";
import type { Mood } from "./mood.ts";

/** Conditions that the summary of an extension contains, so that lists of conditions omit them. */
const SUMMED_UP: ReadonlySet<string> = new Set([
  ConditionType.Deprecated,
  ConditionType.PackageDeprecated,
  ConditionType.ChannelDeprecated,
  ConditionType.BundleDeprecated,
  ConditionType.Reconciling,
  ConditionType.Stalled,
]);

/** Where users find the explanation of a condition. */
type ConditionDetails =
  /** In another condition, which has the same reason. */
  | { readonly kind: "condition"; readonly type: string }
  /** In `status.problems`. */
  | { readonly kind: "problems" }
  /** In the message of the condition; a condition that is not good has advice too. */
  | { readonly kind: "own"; readonly message: string; readonly advice?: ConditionAdvice };

/** A condition as users see it. */
export interface ConditionView {
  readonly condition: Condition;
  readonly mood: Mood | undefined;
  readonly details: ConditionDetails;
}

/** Returns the conditions to list, without those that the summary contains. */
export function listConditionViews(extension: ClusterExtension): ConditionView[] {
  const { conditions = [] } = extension.status ?? {};
  return conditions.filter(({ type }) => !SUMMED_UP.has(type)).map((condition) => viewCondition(extension, condition));
}

function viewCondition(extension: ClusterExtension, condition: Condition): ConditionView {
  const { type, status, reason } = condition;
  const mood = reason === Reason.Retrying ? "bad" : getConditionMood(type, status);
  return { condition, mood, details: findDetails(extension, condition, mood) };
}

function findDetails(extension: ClusterExtension, condition: Condition, mood: Mood | undefined): ConditionDetails {
  const { type, status, reason, message } = condition;
  const cause = type === ConditionType.Ready && status !== "True" ? findSameReason(extension, condition) : undefined;
  if (cause !== undefined) return { kind: "condition", type: cause };
  // The condition message lists permissions in the format of the Go implementation; the problem lists them grouped.
  const isLacking = findProblem(extension.status, "MissingPermissions")?.severity === "Error" && GENERAL_REASONS.has(reason);
  if (isLacking) return { kind: "problems" };
  return { kind: "own", message, ...(mood === "good" ? {} : { advice: explainCondition(extension, condition) }) };
}

/** Returns the type of another condition with the same reason: Ready repeats the reason of the unmet condition. */
function findSameReason({ status }: ClusterExtension, { type, reason }: Condition): string | undefined {
  return status?.conditions?.find((other) => other.type !== type && other.reason === reason && !isKstatusCondition(other.type))?.type;
}

/** The mood of each severity of problems. */
export const PROBLEM_MOODS: Readonly<Record<ProblemSeverity, Mood>> = { Error: "bad", Warning: "warning", Info: "good" };
