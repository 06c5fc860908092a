import { boundedMessage } from "../api/conditions.ts";
import type { OperatorCondition } from "./operatorCondition.ts";

/** Types of a ClusterOperator's conditions, in library-go's order, each with the status that it has when all is well. */
export const FOLDED = {
  Degraded: "False",
  Progressing: "False",
  Available: "True",
  Upgradeable: "True",
  EvaluationConditionsDetected: "False",
} as const;
/** Type of a condition of a ClusterOperator. */
export type FoldedType = keyof typeof FOLDED;

/** A condition of the ClusterOperator before its time is known. */
export interface FoldedCondition {
  readonly type: FoldedType;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

/** For so long a part may be degraded before the whole is. */
const DEGRADED_INERTIA_MS = 2 * 60_000;

/**
 * The five conditions of a ClusterOperator, each folded from the operator conditions whose type ends with its name.
 * @see https://github.com/openshift/library-go/blob/master/pkg/operator/status/condition.go UnionCondition
 */
export function foldConditions(conditions: readonly OperatorCondition[], now: Date): FoldedCondition[] {
  return foldedTypes().map((type) => folded(type, conditions, now));
}

/** The five types in order. */
export function foldedTypes(): FoldedType[] {
  return Object.keys(FOLDED) as FoldedType[];
}

/** Milliseconds until the first part that is degraded has been so for long enough to count; undefined when there is none to wait for. */
export function untilDegraded(conditions: readonly OperatorCondition[], now: Date): number | undefined {
  const left = conditions
    .filter((condition) => condition.type.endsWith("Degraded") && isBad("Degraded", condition) && !isElder(condition, now))
    .map(({ lastTransitionTime }) => Date.parse(lastTransitionTime) + DEGRADED_INERTIA_MS + 1 - now.getTime());
  return left.length === 0 ? undefined : Math.min(...left);
}

function folded(type: FoldedType, conditions: readonly OperatorCondition[], now: Date): FoldedCondition {
  const interesting = conditions.filter((condition) => condition.type.endsWith(type));
  if (interesting.length === 0) return { type, status: "Unknown", reason: "NoData", message: "" };
  const bad = interesting.filter((condition) => isBad(type, condition)).sort((a, b) => (a.type < b.type ? -1 : 1));
  const counts = type === "Degraded" ? bad.some((condition) => isElder(condition, now)) : bad.length > 0;
  if (!counts) return { type, status: FOLDED[type], reason: "AsExpected", message: messageOf(interesting) || "All is well" };
  const opposite = FOLDED[type] === "True" ? "False" : "True";
  const status = bad.some((condition) => condition.status === opposite) ? opposite : "Unknown";
  return { type, status, reason: reasonOf(type, bad), message: messageOf(bad) };
}

function isBad(type: FoldedType, condition: OperatorCondition): boolean {
  return condition.status !== FOLDED[type];
}

/** A time that cannot be read is long ago. */
function isElder({ lastTransitionTime }: OperatorCondition, now: Date): boolean {
  return !(Date.parse(lastTransitionTime) >= now.getTime() - DEGRADED_INERTIA_MS);
}

function messageOf(conditions: readonly OperatorCondition[]): string {
  const lines = conditions.flatMap(({ type, message }) =>
    message === "" ? [] : [...new Set(message.split("\n"))].map((line) => `${type}: ${line}`),
  );
  return boundedMessage(lines.join("\n"));
}

function reasonOf(foldedType: FoldedType, conditions: readonly OperatorCondition[]): string {
  return conditions
    .map(({ type, reason }) => type.slice(0, -foldedType.length) + (reason === "" ? "" : `_${reason}`))
    .sort()
    .join("::");
}
