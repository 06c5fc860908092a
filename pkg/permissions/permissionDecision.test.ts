import { expect, test } from "vitest";
import type { PolicyRule } from "../rbac/policyRule.ts";
import type { RequiredRules } from "../rbac/requiredRules.ts";
import { computeRulesDigest } from "./grantPlan.ts";
import { type DecisionRequest, decidePermissions, type PermissionDecision } from "./permissionDecision.ts";
import type { RiskSubject } from "./riskSubject.ts";

const RBAC = "rbac.authorization.k8s.io";
const rule = (resource: string, ...verbs: string[]): PolicyRule => ({ apiGroups: [""], resources: [resource], verbs });
const escalate: PolicyRule = { apiGroups: [RBAC], resources: ["clusterroles"], verbs: ["escalate"] };
const cluster = (...clusterRules: PolicyRule[]): RequiredRules => ({ clusterRules, namespaceRules: new Map(), unknownKinds: [] });
const SUBJECT: RiskSubject = {
  installNamespace: "argocd",
  systemNamespace: "olmv1-system",
  ownNames: new Map(),
  ownGroups: new Set(),
};
const REQUEST: DecisionRequest = {
  policy: {},
  required: cluster(rule("configmaps", "get", "list"), rule("services", "get")),
  subject: SUBJECT,
  target: { packageName: "argocd-operator", namespace: "argocd" },
  current: cluster(),
};

test.for<[string, Partial<DecisionRequest>, Partial<PermissionDecision>]>([
  ["grants rules without risk", {}, { state: "Granted", pending: [], denied: [], removed: cluster() }],
  [
    "returns only the permissions that change",
    { current: cluster(rule("configmaps", "get"), rule("pods", "list")) },
    {
      state: "Granted",
      added: [
        expect.objectContaining({ rule: rule("configmaps", "list"), outcome: "Granted" }),
        expect.objectContaining({ rule: rule("services", "get") }),
      ],
      removed: cluster(rule("pods", "list")),
    },
  ],
  [
    "lets root-equivalent rules wait, also those that the extension has",
    { required: cluster(escalate), current: cluster(escalate) },
    {
      state: "Pending",
      added: [],
      pending: [expect.objectContaining({ rule: escalate })],
      pendingDigest: computeRulesDigest(cluster(escalate)),
    },
  ],
  [
    "grants rules with their approval",
    { required: cluster(escalate), approvedDigest: computeRulesDigest(cluster(escalate)) },
    { state: "Granted", pending: [] },
  ],
  [
    "denies rules of deny",
    { policy: { deny: [rule("services", "*")] } },
    { state: "Denied", denied: [expect.objectContaining({ rule: rule("services", "get"), field: "deny[0]" })] },
  ],
  [
    "denies a bundle that the policy does not cover, even with rules that it grants",
    { policy: { covers: { packages: ["redis-*"] } } },
    { state: "Denied", problem: 'covers.packages does not contain "argocd-operator"', denied: [] },
  ],
  [
    "denies a bundle that exceeds a limit",
    { policy: { limits: { rules: 1 } } },
    { state: "Denied", problem: "limits.rules is 1, but the bundle needs 2 rules" },
  ],
])("decidePermissions %s", ([, request, decision]) => {
  expect(decidePermissions({ ...REQUEST, ...request })).toMatchObject(decision);
});
