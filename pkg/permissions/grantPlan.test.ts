import { expect, test } from "vitest";
import type { PolicyRule } from "../rbac/policyRule.ts";
import type { RequiredRules } from "../rbac/requiredRules.ts";
import { computeRulesDigest, type GrantPlan, planGrant } from "./grantPlan.ts";
import type { JudgedRule, PermissionOutcome } from "./judgePermissions.ts";

const rule = (resource: string, ...verbs: string[]): PolicyRule => ({ apiGroups: [""], resources: [resource], verbs });
const judge = (outcome: PermissionOutcome, one: PolicyRule, namespace = ""): JudgedRule => ({
  outcome,
  rule: one,
  namespace,
  field: "grant",
});
const cluster = (...clusterRules: PolicyRule[]): RequiredRules => ({ clusterRules, namespaceRules: new Map(), unknownKinds: [] });

const OLD = cluster(rule("configmaps", "get"), rule("services", "get"));
const GRANTED = judge("Granted", rule("configmaps", "get", "list"));
const PENDING = judge("Pending", rule("pods/exec", "create"));
const DENIED = judge("Denied", rule("secrets", "get"));
const DIGEST = computeRulesDigest(cluster(rule("pods/exec", "create")));

test.for<[string, Parameters<typeof planGrant>[0], Partial<GrantPlan>]>([
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
    "the current rules when a rule is denied, even if the others are approved",
    { current: OLD, judged: [GRANTED, PENDING, DENIED], approvedDigest: DIGEST, isSettled: true },
    { state: "Denied", rules: OLD, pending: [], denied: [DENIED], pendingDigest: DIGEST },
  ],
  ["nothing when the bundle needs nothing", { current: OLD, judged: [], isSettled: true }, { state: "Granted", rules: cluster() }],
])("planGrant grants %s", ([, request, plan]) => {
  expect(planGrant(request)).toMatchObject(plan);
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
