import type { PermissionPolicySpec } from "../api/permissionPolicy.ts";
import type { RequiredRules } from "../rbac/requiredRules.ts";
import { diffRules } from "../rbac/ruleSets.ts";
import { formatCount } from "../text/lists.ts";
import { planGrant } from "./grantPlan.ts";
import { type JudgedRule, judgePermissions } from "./judgePermissions.ts";
import { findPolicyProblem, type PolicyTarget } from "./policySelection.ts";
import type { RiskSubject } from "./riskSubject.ts";

/** A bundle whose permissions a policy decides about. */
export interface DecisionRequest {
  readonly policy: PermissionPolicySpec;
  /** The rules that the bundle needs. */
  readonly required: RequiredRules;
  readonly subject: RiskSubject;
  readonly target: PolicyTarget;
  /** The rules that the extension has. */
  readonly current: RequiredRules;
  /** The digest in the approval, if there is one. */
  readonly approvedDigest?: string | undefined;
}

/** What permission-manager would decide about the permissions of a bundle. */
export interface PermissionDecision {
  readonly state: "Granted" | "Pending" | "Denied";
  /** Why the policy denies the bundle as a whole: it does not cover the extension, or the rules exceed a limit. */
  readonly problem?: string;
  /** The decision about each rule that the bundle needs. */
  readonly judged: readonly JudgedRule[];
  /** The decisions about the permissions that the extension does not have. */
  readonly added: readonly JudgedRule[];
  /** The permissions that the extension has and the bundle does not need. */
  readonly removed: RequiredRules;
  /** The rules that wait for an approval. Includes rules that the extension has, because an approval is for all of them. */
  readonly pending: readonly JudgedRule[];
  readonly denied: readonly JudgedRule[];
  readonly pendingDigest: string | undefined;
}

/** Decides about the permissions of a bundle as permission-manager does. */
export function decidePermissions({ policy, required, subject, target, current, approvedDigest }: DecisionRequest): PermissionDecision {
  const problem = findPolicyProblem(policy, target, required);
  const judged = judgePermissions(required, policy, subject);
  // Only the rules depend on the decision about the current ones, and they are not used.
  const { state, pending, denied, pendingDigest } = planGrant({ current, judged, judgedCurrent: [], approvedDigest, isSettled: false });
  const { added, removed } = diffRules(current, required);
  return {
    state: problem === undefined ? state : "Denied",
    ...(problem === undefined ? {} : { problem }),
    judged,
    added: judgePermissions(added, policy, subject),
    removed,
    pending,
    denied,
    pendingDigest,
  };
}

/** Describes what permission-manager would do; empty if it would change nothing. */
export function describePermissionDecision({ state, problem, pending, denied, added }: PermissionDecision): string[] {
  if (problem !== undefined) return [`The policy denies the bundle: ${problem}`];
  if (state === "Denied") return [`The policy denies ${formatCount(denied.length, "rule")}, so nothing would be granted`];
  if (state === "Granted") return added.length === 0 ? [] : ["permission-manager would grant them without approval"];
  return [`${formatCount(pending.length, "rule")} would wait for approval, and the installed bundle would keep its permissions`];
}
