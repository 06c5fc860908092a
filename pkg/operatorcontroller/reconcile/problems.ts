import { Reason } from "../../api/constants.ts";
import { newProblem, type Problem, toProblemObject } from "../../api/problems.ts";
import type { ProblemType } from "../../api/problemTypes.ts";
import { findTerminalError, getErrorMessage, getProblems, ReconcileError } from "../../errors/errors.ts";
import type { BundleHold } from "../state/clusterChanges.ts";
import { hasBundle, hasClient, type Phase } from "../state/phases.ts";
import type { ConditionVerdict } from "./clusterUpgradeCondition.ts";

/** Problem types for errors that have a reason but no problem, by reason. */
const REASON_TYPES: Readonly<Partial<Record<string, ProblemType>>> = {
  [Reason.AwaitingApproval]: "AwaitingApproval",
  [Reason.BackupRequired]: "BackupRequired",
  [Reason.ConversionNeeded]: "ConversionNeeded",
  [Reason.InvalidConfiguration]: "InvalidConfiguration",
  [Reason.NotUpgradeable]: "NotUpgradeable",
  [Reason.RequiredByOthers]: "RequiredByOthers",
  [Reason.RequirementsNotMet]: "RequirementsNotMet",
  [Reason.UnsatisfiedDependencies]: "UnsatisfiedDependencies",
  KindNotServed: "KindNotServed",
};

/**
 * Returns the problems for `status.problems`, without limit and unsorted: problems of the error, then of the steps,
 * then of the conditions.
 * @param error error that ended the reconcile early, if any.
 */
export function collectProblems(phase: Phase, error: unknown, available: ConditionVerdict): Problem[] {
  const { availability, overdue, lacking, problems } = phase.report;
  const held = findHold(phase);
  const found: Problem[] = [...toProblems(error), ...problems, ...(lacking ? [lacking] : [])];
  if (error === undefined && held)
    found.push(newProblem(held.reason === Reason.Retrying ? "RolledBack" : "ProgressDeadlineExceeded", { message: held.message }));
  if (error === undefined && overdue !== undefined) found.push(newProblem("ProgressDeadlineExceeded", { message: overdue }));
  if (phase.phase === "suspended")
    found.push(newProblem("Suspended", { message: "spec.suspend is true, so the controller changes nothing" }));
  if (available.reason === Reason.Unhealthy) {
    const details = availability?.unhealthy?.map(({ ref, health }) => ({ ...toProblemObject(ref), message: health.message }));
    found.push(newProblem("Unhealthy", { message: available.message, details }));
  }
  return found;
}

/**
 * Returns why the controller skips a bundle that was rolled back in this or an earlier reconcile. Undefined if no
 * bundle is skipped.
 */
export function findHold(phase: Phase): BundleHold | undefined {
  if (!hasClient(phase)) return undefined;
  return phase.changes.held ?? (hasBundle(phase) ? phase.held : undefined);
}

/**
 * Returns the problems of an error. If the error has none, returns one with the type for its reason, or
 * ReconcileFailed.
 */
function toProblems(error: unknown): readonly Problem[] {
  if (error === undefined) return [];
  const own = getProblems(error);
  if (own.length > 0) return own;
  const reason = findTerminalError(error)?.reason ?? (error instanceof ReconcileError ? error.reason : "");
  return [newProblem(REASON_TYPES[reason] ?? "ReconcileFailed", { message: getErrorMessage(error) })];
}
