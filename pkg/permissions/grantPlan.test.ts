import { expect, test } from "vitest";
import type { PolicyRule } from "../rbac/policyRule.ts";
import type { RequiredRules } from "../rbac/requiredRules.ts";
import { computeRulesDigest, type GrantPlan, type GrantRequest, planGrant } from "./grantPlan.ts";
import type { JudgedRule, PermissionOutcome } from "./judgePermissions.ts";

const rule = (resource: string, ...verbs: string[]): PolicyRule => ({ apiGroups: [""], resources: [resource], verbs });
const judge = (outcome: PermissionOutcome, one: PolicyRule, namespace = ""): JudgedRule => ({
  outcome,
  rule: one,
  namespace,
  field: "grant",
});
const cluster = (...clusterRules: PolicyRule[]): RequiredRules => ({ clusterRules, namespaceRules: new Map(), unknownKinds: [] });

const inHello = (rules: RequiredRules, ...own: PolicyRule[]): RequiredRules => ({ ...rules, namespaceRules: new Map([["hello", own]]) });

const EXEC = rule("pods/exec", "create");
const GRANTED_RULES = [rule("configmaps", "get", "list")];
const OLD = cluster(rule("configmaps", "get"), rule("services", "get"));
const GRANTED = judge("Granted", rule("configmaps", "get", "list"));
const PENDING = judge("Pending", EXEC);
const PENDING_ATTACH = judge("Pending", rule("pods/attach", "create"));
const DENIED = judge("Denied", rule("secrets", "get"));
const DIGEST = computeRulesDigest(cluster(EXEC));

test.for<[string, Omit<GrantRequest, "judgedCurrent"> & Partial<Pick<GrantRequest, "judgedCurrent">>, Partial<GrantPlan>]>([
  [
    "the current and the requested rules while the bundle is not healthy",
    { current: OLD, judged: [GRANTED], isSettled: false },
    { state: "Granted", rules: cluster(rule("configmaps", "get", "list"), rule("services", "get")) },
  ],
  [
    "exactly the requested rules when the bundle is healthy",
    { current: OLD, judged: [GRANTED], isSettled: true },
    { state: "Granted", rules: cluster(rule("configmaps", "get", "list")) },
  ],
  [
    "the current rules while a rule waits for approval",
    { current: OLD, judged: [GRANTED, PENDING], isSettled: true },
    { state: "Pending", rules: OLD, pending: [PENDING], pendingDigest: DIGEST },
  ],
  [
    "the current rules when another set of rules was approved",
    { current: OLD, judged: [GRANTED, PENDING], approvedDigest: "sha256:other", isSettled: false },
    { state: "Pending", rules: OLD, pending: [PENDING], pendingDigest: DIGEST },
  ],
  [
    "the approved rules",
    { current: OLD, judged: [GRANTED, PENDING], approvedDigest: DIGEST, isSettled: true },
    {
      state: "Granted",
      rules: cluster(rule("configmaps", "get", "list"), rule("pods/exec", "create")),
      pending: [],
      pendingDigest: DIGEST,
    },
  ],
  [
    "the current rules without those that the policy denies now",
    { current: OLD, judged: [GRANTED, judge("Denied", rule("services", "get"))], isSettled: true },
    { state: "Denied", rules: cluster(rule("configmaps", "get")) },
  ],
  [
    "the current rules when a rule is denied, even if the others are approved",
    { current: OLD, judged: [GRANTED, PENDING, DENIED], approvedDigest: DIGEST, isSettled: true },
    { state: "Denied", rules: OLD, pending: [], denied: [DENIED], pendingDigest: DIGEST },
  ],
  [
    "the current rules without the approved ones when their approval is removed",
    { current: cluster(...GRANTED_RULES, EXEC), judged: [GRANTED, PENDING], lastApproved: DIGEST, isSettled: true },
    { state: "Pending", rules: cluster(...GRANTED_RULES), pending: [PENDING], pendingDigest: DIGEST, approvedDigest: undefined },
  ],
  [
    "the current rules without the approved ones when their approval is empty and the bundle is not healthy",
    {
      current: cluster(...GRANTED_RULES, rule("services", "get"), EXEC),
      judged: [GRANTED, PENDING],
      approvedDigest: "",
      lastApproved: DIGEST,
      isSettled: false,
    },
    { state: "Pending", rules: cluster(...GRANTED_RULES, rule("services", "get")), approvedDigest: undefined },
  ],
  [
    "the permissions of the policy that a rule without approval contains",
    {
      current: cluster({ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }),
      judged: [GRANTED, judge("Pending", { apiGroups: ["*"], resources: ["*"], verbs: ["*"] })],
      lastApproved: "sha256:1",
      isSettled: true,
    },
    { state: "Pending", rules: cluster(...GRANTED_RULES) },
  ],
  [
    "the current rules in other scopes when the approval of cluster-wide ones is removed",
    { current: inHello(cluster(EXEC), EXEC), judged: [PENDING, judge("Granted", EXEC, "hello")], lastApproved: DIGEST, isSettled: true },
    { state: "Pending", rules: inHello(cluster(), EXEC) },
  ],
  [
    "the current rules during an upgrade with other rules to approve, while the approval of the installed version exists",
    {
      current: cluster(...GRANTED_RULES, EXEC),
      judged: [GRANTED, judge("Pending", rule("pods/attach", "create"))],
      approvedDigest: DIGEST,
      lastApproved: DIGEST,
      isSettled: false,
    },
    { state: "Pending", rules: cluster(...GRANTED_RULES, EXEC), approvedDigest: DIGEST },
  ],
  [
    "the current rules when the policy granted them before it changed, without an approval",
    { current: cluster(...GRANTED_RULES, EXEC), judged: [GRANTED, PENDING], isSettled: true },
    { state: "Pending", rules: cluster(...GRANTED_RULES, EXEC), approvedDigest: undefined },
  ],
  [
    "the rules again when they are approved again",
    { current: cluster(...GRANTED_RULES), judged: [GRANTED, PENDING], approvedDigest: DIGEST, isSettled: true },
    { state: "Granted", rules: cluster(...GRANTED_RULES, EXEC), approvedDigest: DIGEST },
  ],
  [
    "the current rules without the approved ones when a rule is denied and the approval is removed",
    { current: cluster(...GRANTED_RULES, EXEC), judged: [GRANTED, PENDING, DENIED], lastApproved: DIGEST, isSettled: true },
    { state: "Denied", rules: cluster(...GRANTED_RULES), approvedDigest: undefined },
  ],
  [
    "the current rules without those of an earlier bundle that the policy denies now",
    {
      current: cluster(EXEC, ...GRANTED_RULES),
      judged: [PENDING_ATTACH],
      judgedCurrent: [judge("Denied", EXEC), GRANTED],
      isSettled: false,
    },
    { state: "Pending", rules: cluster(...GRANTED_RULES) },
  ],
  [
    "the requested rules, and the current ones without those of an earlier bundle that the policy denies now",
    { current: cluster(EXEC, rule("services", "get")), judged: [GRANTED], judgedCurrent: [judge("Denied", EXEC)], isSettled: false },
    { state: "Granted", rules: cluster(rule("configmaps", "get", "list"), rule("services", "get")) },
  ],
  [
    "the current rules without the approved ones of an earlier bundle when their approval is removed",
    {
      current: cluster(EXEC, ...GRANTED_RULES),
      judged: [GRANTED, PENDING_ATTACH],
      judgedCurrent: [PENDING, GRANTED],
      lastApproved: DIGEST,
      isSettled: false,
    },
    { state: "Pending", rules: cluster(...GRANTED_RULES), pending: [PENDING_ATTACH], approvedDigest: undefined },
  ],
  ["nothing when the bundle needs nothing", { current: OLD, judged: [], isSettled: true }, { state: "Granted", rules: cluster() }],
])("planGrant grants %s", ([, request, plan]) => {
  expect(planGrant({ judgedCurrent: [], ...request })).toMatchObject(plan);
});

test("computeRulesDigest does not depend on the order and grouping of rules, and differs by scope", () => {
  const digest = computeRulesDigest(cluster(rule("configmaps", "get", "list"), rule("services", "get")));
  expect(computeRulesDigest(cluster(rule("services", "get"), rule("configmaps", "list"), rule("configmaps", "get")))).toBe(digest);
  const namespaced: RequiredRules = {
    ...cluster(rule("services", "get")),
    namespaceRules: new Map([["hello", [rule("configmaps", "get", "list")]]]),
  };
  expect(computeRulesDigest(namespaced)).not.toBe(digest);
});
