import { describe, expect, test } from "vitest";
import { allOf, mergeServerRoles } from "./chartRoles.ts";

const role = (name: string, verb: string): string =>
  `apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: ${name}\nrules:\n  - resources: [x]\n    verbs: [${verb}]\n`;
const binding = (name: string, accounts: readonly string[]): string =>
  `apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata:\n  name: ${name}\nroleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: ClusterRole\n  name: ${name}\nsubjects:\n${accounts
    .map((account) => `  - kind: ServiceAccount\n    name: ${account}-controller-manager\n`)
    .join("")}`;
const always = (text: string) => ({ text, when: "" });
const MERGED = "{{- if .Values.openshift.clusterOlmOperator }}\n  - resources: [x]\n    verbs: [list]\n{{- end }}\n";

describe("mergeServerRoles", () => {
  test("adds the rules of a ClusterRole to those of each server that has it, and omits the ClusterRole with its binding", () => {
    const catalogd = role("catalogd-manager-role", "get");
    const [first, second, third] = mergeServerRoles([
      always(catalogd),
      { text: role("reader", "list"), when: "" },
      { text: binding("reader", ["catalogd", "permission-manager"]), when: "" },
    ]);
    expect(first).toEqual({ text: catalogd + MERGED, when: "" });
    expect([second?.when, third?.when]).toEqual(Array(2).fill("not .Values.openshift.clusterOlmOperator"));
  });

  test("keeps a ClusterRole that cluster-olm-operator may bind", () => {
    const manifests = [always(role("catalogd-proxy-role", "list")), always(binding("catalogd-proxy-role", ["catalogd"]))];
    expect(mergeServerRoles(manifests)).toEqual(manifests);
  });

  test("adds rules only under the condition of their file", () => {
    const [catalogd] = mergeServerRoles([
      always(role("catalogd-manager-role", "get")),
      { text: role("reader", "list"), when: ".Values.x" },
      { text: binding("reader", ["catalogd"]), when: ".Values.x" },
    ]);
    expect(catalogd?.text).toContain("{{- if and .Values.openshift.clusterOlmOperator .Values.x }}\n");
  });

  test("names the ClusterRole of permission-manager with a template, but no ServiceAccount", () => {
    const account = "kind: ServiceAccount\nmetadata:\n  name: permission-manager\n";
    const manifests = [role("permission-manager", "get"), binding("permission-manager", ["permission-manager"]), account].map(always);
    const [first, second, third] = mergeServerRoles(manifests).map(({ text }) => text.match(/name: .*olmv1.permissionManagerRole.*/g));
    expect([first?.length, second?.length, third]).toEqual([1, 1, null]);
  });

  test("throws when a binding refers to a ClusterRole that is missing", () => {
    expect(() => mergeServerRoles([always(binding("reader", ["catalogd"]))])).toThrow("ClusterRoleBinding reader");
  });
});

test.for([
  { conditions: ["", ""], expected: "" },
  { conditions: ["", ".Values.a"], expected: ".Values.a" },
  { conditions: [".Values.a", "not .Values.b"], expected: "and .Values.a (not .Values.b)" },
])("allOf returns $expected for $conditions", ({ conditions, expected }) => {
  expect(allOf(...conditions)).toBe(expected);
});
