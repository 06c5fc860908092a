import { expect, test } from "vitest";
import type { KubeObject } from "../api/k8s.ts";
import { computeEscalationGrants, HeldRoles } from "./escalation.ts";
import type { PolicyRule } from "./policyRule.ts";
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

const EVERYTHING = { apiGroups: ["*"], resources: ["*"], verbs: ["*"] };

/** Returns the verbs `escalate` and `bind` that an installer needs for `objects`, by namespace. */
function listEscalations(objects: KubeObject[], held: HeldRoles): string[] {
  const { clusterRules, namespaceRules } = computeRequiredRules(objects, { installNamespace: "ns", held });
  return [["", clusterRules] as const, ...namespaceRules].flatMap(([namespace, rules]) =>
    rules.flatMap(({ verbs }) => verbs.filter((verb) => verb === "escalate" || verb === "bind").map((verb) => `${namespace} ${verb}`)),
  );
}

test("computeRequiredRules compares each role once in a namespace when many bindings refer to it", () => {
  const large = { ...largeRole("r", ""), kind: "ClusterRole", metadata: { name: "r" } };
  const bindings = ["a", "b", "c", "d", "e"].flatMap((name): KubeObject[] => {
    const binding = { ...role("RoleBinding", undefined, name), roleRef: { kind: "ClusterRole", name: "r" } };
    return [binding, { ...binding, kind: "ClusterRoleBinding", metadata: { name } }];
  });
  const asked: string[] = [];
  const listHeld = (namespace: string): PolicyRule[] => {
    asked.push(namespace);
    return [EVERYTHING];
  };
  const held = new HeldRoles(listHeld);
  const objects = [large, ...bindings];
  expect([listEscalations(objects, held), listEscalations(objects, held)]).toEqual([[], []]);
  expect(asked).toEqual([""]);
});

test("computeRequiredRules requires escalate and bind on a role when 250,000 other permissions were compared", () => {
  const roles = [0, 1, 2, 3, 4].map((i) => largeRole("r", `n${i}`));
  const bindings = roles.map(
    ({ metadata }): KubeObject => ({ ...role("RoleBinding", undefined), metadata, roleRef: { kind: "Role", name: "r" } }),
  );
  const held = new HeldRoles(() => [EVERYTHING]);
  expect(listEscalations([...roles, ...bindings], held)).toEqual(["n4 bind", "n4 escalate"]);
  expect(held.has(role("Role", [READS_PODS], "n4"), "n4")).toBe(true);
});

test("HeldRoles finds permissions of the namespace and of the cluster scope", () => {
  const held = new HeldRoles((namespace) => (namespace === "ns" ? [READS_PODS] : []));
  const clusterRole = role("ClusterRole", [READS_PODS]);
  expect(["ns", "", "other", "ns"].map((namespace) => held.has(clusterRole, namespace))).toEqual([true, false, false, true]);
  expect(held.has(role("Role", [{ ...READS_PODS, verbs: ["list"] }], "ns"), "ns")).toBe(false);
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
