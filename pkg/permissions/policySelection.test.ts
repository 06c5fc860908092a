import { expect, test } from "vitest";
import type { PermissionPolicySpec } from "../api/permissionPolicy.ts";
import { findExceededLimit, findUncovered } from "./policySelection.ts";

const TARGET = { packageName: "argocd-operator", namespace: "argocd", catalog: { name: "community", labels: { tier: "community" } } };

test.for<[string, PermissionPolicySpec["covers"], string | undefined]>([
  ["nothing if the policy covers everything", undefined, undefined],
  [
    "nothing if all lists match",
    { packages: ["argo*"], namespaces: ["argocd"], catalogs: { matchLabels: { tier: "community" } } },
    undefined,
  ],
  ["a package that no pattern matches", { packages: ["argo", "redis-*"] }, 'covers.packages does not contain "argocd-operator"'],
  ["a namespace that no pattern matches", { namespaces: ["team-?"] }, 'covers.namespaces does not contain "argocd"'],
  [
    "a catalog that the selector does not match",
    { catalogs: { matchLabels: { tier: "certified" } } },
    'covers.catalogs does not select ClusterCatalog "community"',
  ],
  [
    "an invalid selector",
    { catalogs: { matchExpressions: [{ key: "tier", operator: "Like" }] } },
    'covers.catalogs is invalid: "Like" is not a valid label selector operator',
  ],
  ["a pattern that is invalid", { packages: ["[a"] }, 'covers.packages does not contain "argocd-operator"'],
])("findUncovered reports %s", ([, covers, problem]) => {
  expect(findUncovered(covers ? { covers } : {}, TARGET)).toBe(problem);
});

test("findUncovered does not check the catalog if it is unknown", () => {
  expect(
    findUncovered({ covers: { catalogs: { matchLabels: { tier: "certified" } } } }, { packageName: "a", namespace: "a" }),
  ).toBeUndefined();
});

test.for<[string, PermissionPolicySpec["limits"], number, number, string | undefined]>([
  ["nothing within the default limits", undefined, 900, 100, undefined],
  ["more than 1000 rules by default", undefined, 1_001, 0, "limits.rules is 1000, but the bundle needs 1001 rules"],
  ["more rules than the policy permits", { rules: 5 }, 3, 3, "limits.rules is 5, but the bundle needs 6 rules"],
  [
    "more namespaces than the policy permits",
    { namespaces: 1 },
    0,
    2,
    "limits.namespaces is 1, but the bundle needs permissions in 2 namespaces",
  ],
])("findExceededLimit reports %s", ([, limits, clusterRules, namespaces, problem]) => {
  const rule = { apiGroups: [""], resources: ["pods"], verbs: ["get"] };
  const rules = {
    clusterRules: Array.from({ length: clusterRules }, () => rule),
    namespaceRules: new Map(Array.from({ length: namespaces }, (_, i) => [`ns-${i}`, [rule]])),
    unknownKinds: [],
  };
  expect(findExceededLimit(limits ? { limits } : {}, rules)).toBe(problem);
});
