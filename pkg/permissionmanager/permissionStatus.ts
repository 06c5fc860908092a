import { boundMessage, setCondition, setKstatusCondition } from "../api/conditions.ts";
import { ConditionType } from "../api/constants.ts";
import {
  type ExtensionPermissions,
  type ExtensionPermissionsStatus,
  type JudgedRuleStatus,
  PERMISSION_HISTORY_MAX,
  PERMISSION_RULES_MAX,
  type PermissionChange,
  type RequestedBundle,
} from "../api/extensionPermissions.ts";
import type { Condition } from "../api/k8s.ts";
import type { StatusEvent } from "../controller/statusWriter.ts";
import { countRules, type GrantPlan } from "../permissions/grantPlan.ts";
import type { JudgedRule } from "../permissions/judgePermissions.ts";
import type { PolicyRule } from "../rbac/policyRule.ts";
import type { RequiredRules } from "../rbac/requiredRules.ts";
import { findMissingRules } from "../rbac/ruleSets.ts";
import { formatCount } from "../text/lists.ts";

/** The type of the condition that describes the state of an ExtensionPermissions. */
const GRANTED = "Granted";

/** Where the permissions of an extension apply, and what controls them. */
export interface GrantScope {
  readonly policy: string;
  readonly extensionGeneration: number;
  /** Absent if it is not known yet. */
  readonly namespace?: string;
  /** Absent while it does not exist. */
  readonly serviceAccount?: string;
  /** Absent if the bundle needs no certificates. */
  readonly certificateProvider?: string;
}

/** The outcome of one reconcile. */
export type GrantOutcome =
  /** The extension is being deleted, and keeps its rules until it is uninstalled. */
  | { readonly kind: "uninstalling"; readonly rules: RequiredRules }
  | {
      readonly kind: "planned";
      readonly plan: GrantPlan;
      /** Undefined if the extension only reads the objects in `spec.config.valuesFrom`. */
      readonly bundle: RequestedBundle | undefined;
      readonly before: RequiredRules;
      readonly access: "Full" | "ReadOnly";
      readonly risks: readonly JudgedRule[];
    }
  | RejectedOutcome;

/** The request is denied as a whole, or cannot be verified. */
export interface RejectedOutcome {
  readonly kind: "rejected";
  readonly state: "Denied" | "Failed";
  readonly message: string;
  /** The rules that the extension keeps. */
  readonly rules: RequiredRules;
  readonly before: RequiredRules;
  readonly access: "Full" | "ReadOnly";
}

/** Returns the state that the status reports for an outcome. */
export function getOutcomeState(outcome: GrantOutcome): NonNullable<ExtensionPermissionsStatus["state"]> {
  if (outcome.kind === "planned") return outcome.plan.state;
  return outcome.kind === "rejected" ? outcome.state : "Granted";
}

/**
 * Computes the status of an ExtensionPermissions.
 * @param now RFC 3339 in whole seconds
 */
export function computePermissionsStatus(
  permissions: Readonly<ExtensionPermissions>,
  scope: GrantScope,
  outcome: GrantOutcome,
  now: string,
): ExtensionPermissionsStatus {
  const before = permissions.status ?? {};
  const generation = permissions.metadata.generation ?? 0;
  const state = getOutcomeState(outcome);
  const rules = outcome.kind === "planned" ? outcome.plan.rules : outcome.rules;
  const conditions = computeConditions(before.conditions, outcome, generation, now);
  const history = outcome.kind === "uninstalling" ? before.history : addChange(before.history, outcome, rules, now);
  const planned = outcome.kind === "planned" ? outcome : undefined;
  const approvedDigest = planned ? planned.plan.approvedDigest : before.approvedDigest;
  return {
    observedGeneration: generation,
    state,
    conditions,
    ...scope,
    ...getBundle(planned?.bundle ?? before.bundle),
    access: outcome.kind === "uninstalling" ? "Full" : outcome.access,
    rules: listPlaced(rules).slice(0, PERMISSION_RULES_MAX),
    ruleCount: countRules(rules),
    broadCount: planned ? planned.risks.length : (before.broadCount ?? 0),
    ...(planned && planned.plan.pending.length > 0 ? { pending: planned.plan.pending.map(toStatus).slice(0, PERMISSION_RULES_MAX) } : {}),
    ...(planned && planned.plan.denied.length > 0 ? { denied: planned.plan.denied.map(toStatus).slice(0, PERMISSION_RULES_MAX) } : {}),
    ...(planned?.plan.pendingDigest !== undefined && planned.plan.state === "Pending" ? { pendingDigest: planned.plan.pendingDigest } : {}),
    ...(approvedDigest === undefined ? {} : { approvedDigest }),
    ...(history && history.length > 0 ? { history } : {}),
  };
}

/** Returns Granted, Ready with the same content, and Stalled while the policy denies permissions. */
function computeConditions(before: Condition[] | undefined, outcome: GrantOutcome, observedGeneration: number, now: string): Condition[] {
  const reason = getOutcomeState(outcome);
  const message = boundMessage(describeOutcome(outcome));
  const status = reason === "Granted" ? "True" : "False";
  let conditions = before ?? [];
  for (const type of [GRANTED, ConditionType.Ready])
    conditions = setCondition(conditions, { type, status, reason, observedGeneration, message }, now);
  const stalled = reason === "Denied" ? { type: ConditionType.Stalled, reason, observedGeneration, message } : undefined;
  return setKstatusCondition(conditions, stalled, now);
}

/** Returns the Events about a status that replaces that of `permissions`. */
export function computePermissionEvents(
  { status: before }: Readonly<ExtensionPermissions>,
  after: ExtensionPermissionsStatus,
): StatusEvent[] {
  const message = after.conditions?.[0]?.message ?? "";
  const isNew = before?.state !== after.state || before?.conditions?.[0]?.message !== message;
  if (!isNew || !after.bundle) return [];
  if (after.state === "Pending") return [{ reason: "GrantPending", message }];
  if (after.state === "Denied") return [{ reason: "GrantDenied", message }];
  if (after.state === "Failed") return [{ reason: "GrantUnverified", message }];
  return [{ reason: "GrantChanged", message }];
}

function describeOutcome(outcome: GrantOutcome): string {
  if (outcome.kind === "uninstalling") return "the extension keeps its permissions until it is uninstalled";
  if (outcome.kind === "rejected") return outcome.message;
  const { plan, bundle } = outcome;
  const subject = bundle ? `bundle ${bundle.name}` : "reading spec.config.valuesFrom";
  if (plan.state === "Denied") return `${subject}: the policy denies ${formatCount(plan.denied.length, "permission rule")}`;
  if (plan.state === "Pending") return `${subject}: ${formatCount(plan.pending.length, "permission rule")} must be approved`;
  return `${subject} has its ${formatCount(countRules(plan.rules), "permission rule")}`;
}

function getBundle(bundle: RequestedBundle | undefined): { bundle?: RequestedBundle } {
  return bundle ? { bundle } : {};
}

function addChange(
  history: readonly PermissionChange[] = [],
  outcome: Exclude<GrantOutcome, { kind: "uninstalling" }>,
  rules: RequiredRules,
  time: string,
): PermissionChange[] {
  const added = countRules(findMissingRules(rules, outcome.before));
  const removed = countRules(findMissingRules(outcome.before, rules));
  if (added + removed === 0) return [...history];
  const { plan, bundle } = outcome.kind === "planned" ? outcome : {};
  const less = plan?.state === "Granted" ? "Narrowed" : "Revoked";
  const reason = added > 0 ? (plan?.pendingDigest === undefined ? "Granted" : "Approved") : less;
  return [{ time, reason, ...(bundle ? { bundle: bundle.name } : {}), added, removed }, ...history].slice(
    0,
    PERMISSION_HISTORY_MAX,
  ) as PermissionChange[];
}

function listPlaced({ clusterRules, namespaceRules }: RequiredRules): (PolicyRule & { namespace?: string })[] {
  return [...clusterRules, ...[...namespaceRules].flatMap(([namespace, rules]) => rules.map((rule) => ({ namespace, ...rule })))];
}

function toStatus({ namespace, rule, risk, field }: JudgedRule): JudgedRuleStatus {
  const reason = field.startsWith("deny")
    ? `${field} of the policy denies it`
    : risk
      ? `a holder ${risk.reason}`
      : "grant of the policy is Manual";
  return { ...(namespace === "" ? {} : { namespace }), ...rule, ...(risk ? { risk: risk.name } : {}), reason };
}
