import { expect, test } from "vitest";
import type { KubeObject } from "../api/k8s.ts";
import { computeEscalationGrants } from "./escalation.ts";
import { computeGrantedRules, computeRequiredRules } from "./requiredRules.ts";
import { diffRules, formatRulesDiff } from "./ruleSets.ts";

const role = (kind: string, rules: unknown, namespace?: string): KubeObject => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind,
  metadata: { name: "r", ...(namespace === undefined ? {} : { namespace }) },
  rules,
});
/** A role with 60,000 permissions. */
function largeRole(name: string, namespace: string): KubeObject {
  const list = (prefix: string, length: number): string[] => Array.from({ length }, (_, i) => `${prefix}${i}`);
  const large = role("Role", [{ apiGroups: list("g", 40), resources: list("r", 50), verbs: list("v", 30) }]);
  return { ...large, metadata: { name, namespace } };
}
const READS_PODS = { apiGroups: [""], resources: ["pods"], verbs: ["get"] };

test("computeGrantedRules returns the rules of roles by scope, and no rules for other objects and aggregated roles", () => {
  const objects: KubeObject[] = [
    role("ClusterRole", [READS_PODS]),
    role("Role", [READS_PODS]),
    role("Role", [{ ...READS_PODS, verbs: ["list"] }], "watched"),
    { ...role("ClusterRole", [{ ...READS_PODS, verbs: ["*"] }]), aggregationRule: {} },
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "r" }, rules: [READS_PODS] },
  ];
  const { clusterRules, namespaceRules } = computeGrantedRules(objects, "ns");
  expect(clusterRules).toEqual([READS_PODS]);
  expect([...namespaceRules]).toEqual([
    ["ns", [READS_PODS]],
    ["watched", [{ ...READS_PODS, verbs: ["list"] }]],
  ]);
});

test("computeGrantedRules ignores malformed rules and rejects a role with too many permissions", () => {
  expect(
    computeGrantedRules([role("Role", "all"), role("ClusterRole", [null, { verbs: null }, { ...READS_PODS, verbs: ["get", 1] }])], "ns")
      .clusterRules,
  ).toContainEqual(READS_PODS);
  const many = Array.from({ length: 400 }, (_, i) => `r${i}`);
  expect(() => computeGrantedRules([role("Role", [{ apiGroups: many, resources: many, verbs: ["get"] }])], "ns")).toThrow(
    "Role r grants 160000 permissions (verbs × API groups × resources × names), more than the 100000 allowed",
  );
});

test.for<[what: string, roles: KubeObject[], message: string]>([
  [
    "in one namespace",
    [0, 1].map((i) => largeRole(`r${i}`, "ns")),
    'the roles of the bundle in namespace "ns" grant 120000 permissions (verbs × API groups × resources × names), more than the 100000 allowed',
  ],
  [
    "in all namespaces",
    [0, 1, 2, 3, 4].map((i) => largeRole("r", `n${i}`)),
    "the roles of the bundle in all namespaces grant 300000 permissions (verbs × API groups × resources × names), more than the 250000 allowed",
  ],
])("computeRequiredRules rejects roles that together have too many permissions %s", ([, roles, message]) => {
  expect(() => computeRequiredRules(roles, { installNamespace: "ns", strategy: "union" })).toThrow(message);
  expect(() => computeRequiredRules(roles, { installNamespace: "ns", strategy: "escalate" })).not.toThrow();
});

test.for<[what: string, roleRef: unknown]>([
  ["none", undefined],
  ["null", null],
  ["a text", "ClusterRole"],
  ["one whose kind is a map", { kind: { ClusterRole: {} }, name: "r" }],
  ["one without a name", { kind: "ClusterRole" }],
])("a binding whose roleRef is %s requires no bind permission, because the API server rejects it", ([, roleRef]) => {
  const binding = { ...role("ClusterRoleBinding", undefined), roleRef };
  expect(computeEscalationGrants(binding, "", { strategy: "escalate", objects: [binding] })).toEqual([]);
});

test("diffRules lists each added and removed permission", () => {
  const before = computeGrantedRules([role("ClusterRole", [{ ...READS_PODS, verbs: ["get", "list"] }])], "ns");
  const after = computeGrantedRules([role("ClusterRole", [{ ...READS_PODS, verbs: ["get", "watch"] }])], "ns");
  expect(formatRulesDiff(diffRules(before, after))).toEqual([
    '+ Namespace:"" APIGroups:[] Resources:[pods] Verbs:[watch]',
    '- Namespace:"" APIGroups:[] Resources:[pods] Verbs:[list]',
  ]);
  expect(formatRulesDiff(diffRules(before, before))).toEqual(["no change"]);
});
