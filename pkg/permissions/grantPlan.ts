import { createHash } from "node:crypto";
import { encodeCanonicalJson } from "../golang/json.ts";
import type { PolicyRule } from "../rbac/policyRule.ts";
import type { RequiredRules } from "../rbac/requiredRules.ts";
import { findMissingPolicyRules, intersectRules, isEmptyRules, mergeRequiredRules } from "../rbac/ruleSets.ts";
import type { JudgedRule } from "./judgePermissions.ts";

/** The inputs of a decision about the rules of one extension. */
export interface GrantRequest {
  /** The rules in the roles of the extension now. */
  readonly current: RequiredRules;
  /** The decision about each rule that the requested bundle needs. */
  readonly judged: readonly JudgedRule[];
  /** The decision about each current rule, because rules of an earlier bundle can be denied or lose their approval too. May be empty if none can. */
  readonly judgedCurrent: readonly JudgedRule[];
  /** The digest in the approval; undefined without an approval. */
  readonly approvedDigest?: string | undefined;
  /** The digest that was approved for the current rules: `approvedDigest` of the last plan. */
  readonly lastApproved?: string | undefined;
  /** Whether the requested bundle is installed and healthy, so that nothing needs the rules of an earlier bundle. */
  readonly isSettled: boolean;
}

/** The rules that an extension gets now. */
export interface GrantPlan {
  readonly state: "Granted" | "Pending" | "Denied";
  readonly rules: RequiredRules;
  readonly pending: readonly JudgedRule[];
  readonly denied: readonly JudgedRule[];
  /** Identifies the rules that need an approval; undefined if no rule needs one. Kept while they are approved. */
  readonly pendingDigest: string | undefined;
  /** The digest of approved rules that the extension has; undefined if it has none, or if their approval was revoked. */
  readonly approvedDigest: string | undefined;
}

/**
 * Decides which rules an extension gets:
 *
 * | the requested rules                            | the extension gets                                         |
 * | a rule is denied                               | what it has                                                |
 * | a rule waits for an approval                   | what it has                                                |
 * | all are granted, bundle not healthy            | what it has and the requested rules, for the upgrade       |
 * | all are granted, bundle healthy                | exactly the requested rules                                |
 *
 * An extension never keeps rules that the policy denies. When the last approval is removed, it does not keep rules that need one either.
 * Either all requested rules are granted or none of them, because an installation with a part of them cannot succeed. An approval that does not match,
 * such as the one for the installed version during an upgrade, is not removed: the installed version keeps its rules.
 */
export function planGrant({ current, judged, judgedCurrent, approvedDigest, lastApproved, isSettled }: GrantRequest): GrantPlan {
  const denied = judged.filter(({ outcome }) => outcome === "Denied");
  const waiting = judged.filter(({ outcome }) => outcome === "Pending");
  const pendingDigest = waiting.length === 0 ? undefined : computeRulesDigest(toRules(waiting));
  const isApproved = pendingDigest === undefined || approvedDigest === pendingDigest;
  const pending = isApproved ? [] : waiting;
  const isRevoked = isApprovalRevoked({ approvedDigest, lastApproved });
  const kept = removeRules(current, judged, selectWithdrawn([...judged, ...judgedCurrent], isRevoked));
  if (denied.length > 0 || !isApproved) {
    const state = denied.length > 0 ? "Denied" : "Pending";
    return { state, rules: kept, pending, denied, pendingDigest, approvedDigest: isRevoked ? undefined : lastApproved };
  }
  const requested = toRules(judged);
  const rules = isSettled ? requested : mergeRequiredRules([kept, requested]);
  return { state: "Granted", rules, pending, denied, pendingDigest, approvedDigest: pendingDigest };
}

/** Reports whether the approval of the current rules was removed. */
export function isApprovalRevoked({ approvedDigest, lastApproved }: Pick<GrantRequest, "approvedDigest" | "lastApproved">): boolean {
  return lastApproved !== undefined && !approvedDigest;
}

/** Returns the current rules that an extension keeps if nothing is known about the requested bundle. @param judgedCurrent the decision about each of them */
export function keepRules(current: RequiredRules, judgedCurrent: readonly JudgedRule[], isRevoked: boolean): RequiredRules {
  return removeRules(current, judgedCurrent, selectWithdrawn(judgedCurrent, isRevoked));
}

/** Returns the rules that an extension must not keep. */
function selectWithdrawn(judged: readonly JudgedRule[], isRevoked: boolean): JudgedRule[] {
  return judged.filter(({ outcome }) => outcome === "Denied" || (isRevoked && outcome === "Pending"));
}

/** Returns the current permissions without those in `removed`. Keeps permissions that the policy grants, even if a removed rule contains them. */
function removeRules(current: RequiredRules, judged: readonly JudgedRule[], removed: readonly JudgedRule[]): RequiredRules {
  if (removed.length === 0) return current;
  const { clusterRules, namespaceRules, unknownKinds } = toRules(removed);
  if (isEmptyRules(intersectRules(current, { clusterRules, namespaceRules, unknownKinds }))) return current;
  const granted = toRules(judged.filter(({ outcome }) => outcome === "Granted"));
  const left = [...current.namespaceRules].map(([namespace, rules]): [string, PolicyRule[]] => [
    namespace,
    findMissingPolicyRules(rules, namespaceRules.get(namespace) ?? []),
  ]);
  const kept: RequiredRules = {
    ...current,
    clusterRules: findMissingPolicyRules(current.clusterRules, clusterRules),
    namespaceRules: new Map(left.filter(([, rules]) => rules.length > 0)),
  };
  return mergeRequiredRules([kept, intersectRules(granted, current)]);
}

/** Returns the rules of a decision, in few rules for each scope. */
export function toRules(judged: readonly JudgedRule[]): RequiredRules {
  const byScope = Map.groupBy(judged, ({ namespace }) => namespace);
  const { "": clusterRules = [], ...namespaces } = Object.fromEntries(
    [...byScope].map(([namespace, list]): [string, PolicyRule[]] => [namespace, list.map(({ rule }) => rule)]),
  );
  return mergeRequiredRules([{ clusterRules, namespaceRules: new Map(Object.entries(namespaces)), unknownKinds: [] }]);
}

/** Computes a digest of rules, "sha256:…", which does not depend on their order. */
export function computeRulesDigest(rules: RequiredRules): string {
  const { clusterRules, namespaceRules } = mergeRequiredRules([rules]);
  const text = encodeCanonicalJson({ cluster: clusterRules, namespaces: Object.fromEntries(namespaceRules) });
  return `sha256:${createHash("sha256").update(text).digest("hex")}`;
}

/** Returns the number of rules in all scopes. */
export function countRules({ clusterRules, namespaceRules }: RequiredRules): number {
  return clusterRules.length + [...namespaceRules.values()].reduce((sum, rules) => sum + rules.length, 0);
}
